#!/bin/sh
# @ident@: TARGET is a folder on the storage under test, RESULTS takes the output.
set -eu
: "${TARGET:?set TARGET to a folder on the storage under test}"
# The tools of the script, or what starts them on the clients.
lacking=
for tool in @tools@; do
  command -v "${tool%% *}" > /dev/null || {
    echo "@ident@: found no ${tool%% *}, expected it on the PATH of this machine" >&2
    lacking=1
  }
done
if [ -n "$lacking" ]; then exit 127; fi
# What the script needs, as it needs it: some machines have other forms of these commands.
for need in 'awk 1' 'cut -c1' 'find / -maxdepth 0 -size +127k' 'grep -c .' 'gzip -c' 'head -qc 1' 'paste -sd, -' 'sed -n p' 'seq 1' \
  'sha256sum' 'sort -u' 'split -b 1 --filter=cat' 'stat -f -c %T /' 'timeout 9 true' 'uname -n' 'wc -c' 'xargs -rd , echo'; do
  echo x | sh -c "$need" > /dev/null 2>&1 || lacking="$lacking, $need"
done
if [ -n "$lacking" ]; then
  echo "@ident@: found no${lacking#,}, expected the commands of GNU coreutils and findutils, awk, grep, gzip and sed" >&2
  exit 1
fi
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${RESULTS:=$here/../results}"
RESULTS=$(cd "$RESULTS" && pwd)
sha256sum < "$here/../tests.json" > "$RESULTS/@ident@.tests.sha256"
# However the script ends, neither a sample that waits nor its files remain.
part=$RESULTS/.@ident@.$$.part sampling=
leave() {
  if [ -n "$sampling" ]; then
    kill "$sampling" 2>/dev/null || :
    wait "$sampling" || :
  fi
  rm -f "$part" "$part.raw"
}
trap leave EXIT
trap 'exit 130' INT TERM HUP
# Start of this machine, seconds since then, bytes that the tools of this script asked to read and write, those of storage, and
# those of all clients, which COUNTERS prints.
meters() {
  { sed -n 's/^btime //p' /proc/stat; cut -d' ' -f1 /proc/uptime
    sed -n 's/^\(rchar\|wchar\|read_bytes\|write_bytes\): //p' "/proc/$$/io"
    sh -c "${COUNTERS:-:}" | awk '{ sum += $1 } END { printf "%.0f\n", sum }'; } 2>/dev/null | paste -sd, -
}
# Pieces of 64 KiB of files of the test while it runs, every $1 seconds until there is one: their bytes when packed, their bytes,
# and how many of them differ. The files are in the folders $2 below TARGET, and their names begin with $3; nothing else is read.
sample() {
  # It ends when what it waits for has ended; `timeout` ends what that started.
  trap 'kill "$!" 2>/dev/null; wait; exit' INT TERM HUP
  for _ in 1 2 3 4 5; do
    sleep "$1" & wait "$!"
    # A script that was killed ends nothing that it started.
    kill -0 "$$" 2>/dev/null || { rm -f "$part" "$part.raw"; exit; }
    # shellcheck disable=SC2016 # The shell that timeout starts expands them.
    timeout 10 sh -c 'cd "$1" && find $2 -maxdepth 1 -name "$3*" -type f -size +127k | head -n 4 | xargs -rd "\n" head -qc 2097152' \
      sample "$TARGET" "$2" "$3" > "$part.raw" & wait "$!" || :
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
  # A run may end before its sample begins.
  if [ -n "$sampling" ]; then
    [ -s "$part.raw" ] || [ -e "$part" ] || kill "$sampling" 2>/dev/null || :
    wait "$sampling" || :
    sampling=
    [ -e "$part" ] || echo 0,0,0 > "$part"
  fi
  contents=$(cat "$part" 2>/dev/null || :)
  rm -f "$part" "$part.raw"
  echo "# $started $ended $(uname -n) $(stat -f -c %T "$TARGET") $name turn=$turn/$2 script=$$ before=$before after=$after" \
    "contents=$contents" >> "$RESULTS/@ident@.sha256"
  (cd "$RESULTS" && find . -type f \( -path "./@ident@.run$run.*" -o -path "./@ident@.run$run/*" \) -exec sha256sum {} +) \
    | sed 's|  \./|  |' >> "$RESULTS/@ident@.sha256"
  # What ran: the script, its job file, and its tool, of which a script is named as one.
  for file in "$here/@ident@.sh" "$here/@ident@.fio"; do
    if [ -f "$file" ]; then echo "$(sha256sum < "$file" | cut -c1-64)  $(basename "$here")/${file##*/}"; fi
  done >> "$RESULTS/@ident@.sha256"
  for tool in @tools@; do
    tool=$(command -v "${tool%% *}")
    case $(head -qc 2 "$tool") in '#!') tool=script:$tool ;; esac
    echo "$(sha256sum < "${tool#script:}" | cut -c1-64)  $tool"
  done >> "$RESULTS/@ident@.sha256"
  # The hash of all lines above.
  echo "# sum $(sha256sum < "$RESULTS/@ident@.sha256" | cut -c1-64)" >> "$RESULTS/@ident@.sha256"
}
