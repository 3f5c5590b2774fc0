#!/bin/sh
# Writes files until @percent@ % of the capacity is in use; several clients may run it concurrently.
set -eu
: "${TARGET:?set TARGET to a folder on the storage under test}"
folder=$TARGET/ballast/$(hostname -s).$$
mkdir -p "$folder"
cd "$folder"
number=0
while [ "$(df -P . | tail -n 1 | awk '{print int($5)}')" -lt @percent@ ]; do
  number=$((number + 1))
  fio --name=ballast --filename="$number" --rw=write --bs=1m --refill_buffers --randrepeat=0 --size="${SIZE:-64g}" --direct=1 --output=/dev/null
done
