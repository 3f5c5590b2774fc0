trap 'leave; cd / && rm -rf -- "$TARGET"' EXIT
cd "$TARGET"
