#!/bin/sh
# @ident@: TARGET is a folder on the storage under test, RESULTS takes the output.
set -eu
: "${TARGET:?set TARGET to a folder on the storage under test}"
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${RESULTS:=$here/../results}"
RESULTS=$(cd "$RESULTS" && pwd)
sha256sum < "$here/../tests.json" > "$RESULTS/@ident@.tests.sha256"
# Results of earlier runs stay: a run takes the next number.
free() { run=1; while [ -e "$RESULTS/@ident@.run$run$1" ]; do run=$((run + 1)); done; started=$(date +%s); }
# Each run is listed with its clock, its host, the file system of TARGET and the hashes of its files.
list() {
  name=@ident@.run$run$1
  echo "# $started $(date +%s) $(uname -n) $(stat -f -c %T "$TARGET") $name" >> "$RESULTS/@ident@.sha256"
  (cd "$RESULTS" && find . -type f \( -path "./@ident@.run$run.*" -o -path "./@ident@.run$run/*" \) -exec sha256sum {} +) \
    | sed 's|  \./|  |' >> "$RESULTS/@ident@.sha256"
}
