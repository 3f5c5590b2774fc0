#!/bin/sh
# On every client: `sh servers.sh fill` before filling or writing files, `sh servers.sh read` before reading them.
set -eu
: "${TARGET:?set TARGET to a folder on the storage under test}"
here=$(cd "$(dirname "$0")" && pwd)
HOSTS=${HOSTS:-$here/../hosts.txt}
own=$(grep . "$HOSTS" | sed 's/,.*//' | grep -n -x -F -- "${CLIENT:-$(hostname -s)}" | head -n 1 | cut -d : -f 1)
: "${own:?this client is not in the hosts file; set CLIENT to its name there}"
all=$(grep -c . "$HOSTS")
case "${1:-}" in
  fill) folder=$own ;;
  read) folder=$((own % all + 1)) ;;
  shared) folder=shared ;;
  *) echo "servers.sh: found '${1:-}', expected fill, read or shared" >&2; exit 2 ;;
esac
mkdir -p "$TARGET/fio/$folder"
cd "$TARGET/fio/$folder"
exec fio --server
