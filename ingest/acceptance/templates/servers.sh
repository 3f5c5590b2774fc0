#!/bin/sh
# On every client: `sh servers.sh fill` before filling or writing files, `sh servers.sh read N` before a test of reads by
# N clients, `sh servers.sh next N` before a test of opens by N clients, in the folder that the next client filled,
# `sh servers.sh shared` before tests with shared files. LISTEN replaces the address and port of the server.
set -eu
: "${TARGET:?set TARGET to a folder on the storage under test}"
here=$(cd "$(dirname "$0")" && pwd)
HOSTS=${HOSTS:-$here/../hosts.txt}
own=$(grep . "$HOSTS" | sed "s/,.*//" | grep -n -x -F -- "${CLIENT:-$(hostname -s)}" | head -n 1 | cut -d : -f 1)
: "${own:?this client is not in the hosts file; set CLIENT to its name there}"
all=@clients@
link() {
  number=0
  turn=0
  # An equal part of the folders that all clients filled, none of which this client filled.
  part=$((all / $1))
  if [ "$part" -eq "$all" ] && [ "$all" -gt 1 ]; then part=$((all - 1)); fi
  while [ "$turn" -lt "$part" ]; do
    for file in "../$(((own + turn * $1) % all + 1))"/data.*; do
      if [ ! -e "$file" ]; then echo "servers.sh: found no $file, expected data: run fill-data.sh first" >&2; exit 1; fi
      for threads in @threads@; do
        ln -s "$file" "data-$threads.$((number % threads)).$((number / threads))"
      done
      number=$((number + 1))
    done
    turn=$((turn + 1))
  done
  # Each random read of a test holds all files of the client open.
  needed=$((@open@ * number + 256))
  if [ "$(ulimit -n)" = unlimited ] || [ "$(ulimit -n)" -ge "$needed" ]; then return; fi
  if ! (ulimit -S -n "$needed") 2>/dev/null; then
    echo "servers.sh: found a limit of $(ulimit -H -n) open files, expected at least $needed; raise it (ulimit -H -n)" >&2
    exit 1
  fi
  ulimit -S -n "$needed"
}
case "${1:-}" in
  fill) folder=$own ;;
  next) folder=$((own % ${2:-1} + 1)) ;;
  read) folder=read-${2:-$all}-$own ;;
  shared) folder=shared ;;
  *) echo "servers.sh: found '${1:-}', expected fill, next, read or shared" >&2; exit 2 ;;
esac
if [ "$1" = read ]; then
  if [ "${2:-$all}" -lt "$own" ]; then exit 0; fi
  rm -rf -- "$TARGET/fio/$folder"
fi
mkdir -p "$TARGET/fio/$folder"
cd "$TARGET/fio/$folder"
if [ "$1" = read ]; then link "${2:-$all}"; fi
exec fio --server${LISTEN:+="$LISTEN"}
