#!/bin/sh
# @ident@: TARGET is a folder on the storage under test, RESULTS takes the output.
set -eu
: "${TARGET:?set TARGET to a folder on the storage under test}"
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${RESULTS:=$here/../results}"
RESULTS=$(cd "$RESULTS" && pwd)
sha256sum < "$here/../tests.json" > "$RESULTS/@ident@.tests.sha256"
# Results of earlier runs stay: a run takes the next number.
free() { run=1; while [ -e "$RESULTS/@ident@.run$run$1" ]; do run=$((run + 1)); done; }
