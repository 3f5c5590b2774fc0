HOSTS=${HOSTS:-$here/../hosts.txt}
if ! [ -s "$HOSTS" ]; then
  echo "@ident@: hosts file '$HOSTS' is missing or empty, expected @clients@ clients, one per line" >&2
  exit 2
fi
if [ "$(grep -c . "$HOSTS")" -lt @clients@ ]; then
  echo "@ident@: hosts file '$HOSTS' has $(grep -c . "$HOSTS") clients, expected @clients@" >&2
  exit 2
fi
grep . "$HOSTS" | head -n @clients@ > "$RESULTS/@ident@.hosts"
HOSTS=$RESULTS/@ident@.hosts
