#!/bin/sh
# @ident@: TARGET is a folder on the storage under test, RESULTS takes the output.
set -eu
: "${TARGET:?set TARGET to a folder on the storage under test}"
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${RESULTS:=$here/../results}"
RESULTS=$(cd "$RESULTS" && pwd)
sha256sum < "$here/../tests.json" > "$RESULTS/@ident@.tests.sha256"
# Start of this machine, seconds since then, bytes that the tools of this script asked to read and write, those of storage, and
# those of all clients, which COUNTERS prints.
meters() {
  { sed -n 's/^btime //p' /proc/stat; cut -d' ' -f1 /proc/uptime
    sed -n 's/^\(rchar\|wchar\|read_bytes\|write_bytes\): //p' "/proc/$$/io"
    sh -c "${COUNTERS:-:}" | awk '{ sum += $1 } END { printf "%.0f\n", sum }'; } 2>/dev/null | paste -sd, -
}
# Pieces of 64 KiB of files of the test while it runs: their bytes when packed, their bytes, and how many of them differ.
sample() {
  part=$RESULTS/.@ident@.part
  for try in 1 2 3 4 5; do
    sleep "$1"
    find "$TARGET" -type f -path "*/$2*" -size +127k | head -n 4 | xargs -r -d '\n' head -qc 2097152 > "$part.raw"
    [ -s "$part.raw" ] && break
  done
  echo "$(split -b 65536 --filter='gzip -c' "$part.raw" | wc -c),$(wc -c < "$part.raw"),$(
    split -b 65536 --filter=sha256sum "$part.raw" | sort -u | wc -l)" > "$part"
  rm "$part.raw"
}
# Results of earlier runs stay: a run takes the next number.
free() {
  run=1; while [ -e "$RESULTS/@ident@.run$run$1" ]; do run=$((run + 1)); done
  started=$(date +%s) before=$(meters) sampling=
}
# Each run is listed with its clock, its host, the file system of TARGET, its turn of this start, what was metered, and the hashes
# of its files.
list() {
  ended=$(date +%s) after=$(meters) name=@ident@.run$run$1
  part=$RESULTS/.@ident@.part
  # A run may end before its sample begins.
  if [ -n "$sampling" ]; then
    [ -s "$part.raw" ] || [ -e "$part" ] || kill "$sampling" 2>/dev/null || :
    wait "$sampling" || :
    [ -e "$part" ] || echo 0,0,0 > "$part"
  fi
  contents=$(cat "$part" 2>/dev/null || :)
  rm -f "$part" "$part.raw"
  echo "# $started $ended $(uname -n) $(stat -f -c %T "$TARGET") $name turn=$turn/$2 script=$$ before=$before after=$after" \
    "contents=$contents" >> "$RESULTS/@ident@.sha256"
  (cd "$RESULTS" && find . -type f \( -path "./@ident@.run$run.*" -o -path "./@ident@.run$run/*" \) -exec sha256sum {} +) \
    | sed 's|  \./|  |' >> "$RESULTS/@ident@.sha256"
}
