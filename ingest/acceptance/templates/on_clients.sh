# Every rank looks for the tool, before anything runs on the clients.
$LAUNCH sh -c 'command -v @tool@' > /dev/null || {
  echo "@ident@: found no @tool@ on each client, expected it on their PATH" >&2
  rmdir "$TARGET" 2>/dev/null || :
  exit 127
}
