"""What the shell scripts of all tools begin with; they take paths from the environment, never from a requirement."""

HEAD = """#!/bin/sh
# {ident}: TARGET is a folder on the storage under test, RESULTS takes the output.
set -eu
: "${{TARGET:?say TARGET=FOLDER, on the storage under test}}"
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${{RESULTS:=$here/../results}}"
RESULTS=$(cd "$RESULTS" && pwd)
"""

#: A folder that did not exist before, so that nothing of the user's is touched.
ONE_NODE = (
    HEAD
    + """TARGET=$(cd "$TARGET" && pwd)/{ident}
mkdir "$TARGET"
trap 'cd / && rm -rf -- "$TARGET"' EXIT
trap 'exit 130' INT TERM HUP
cd "$TARGET"
"""
)

DRIVER = HEAD

HOSTS = """HOSTS=${{{{HOSTS:-$here/../hosts.txt}}}}
if ! [ -s "$HOSTS" ]; then
  echo "{{ident}}: hosts file '$HOSTS' is missing or empty, expected {clients} clients, one per line" >&2
  exit 2
fi
if [ "$(grep -c . "$HOSTS")" -ne {clients} ]; then
  echo "{{ident}}: hosts file '$HOSTS' has $(grep -c . "$HOSTS") lines, expected {clients}" >&2
  exit 2
fi
"""
