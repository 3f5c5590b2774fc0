#!/usr/bin/env bash
# Requirement diff of changed site files between two commits, as a Markdown comment.
#
# All input comes from the environment, none is part of a command:
#   BASE_SHA, HEAD_SHA  commits to compare; the merge base of both is the state before
#   SITE_FILES          git pathspecs of site files, one per line
#   COMMENT_FILE        where the comment goes; empty: standard output
#   GH_TOKEN, PR_NUMBER, GITHUB_REPOSITORY  the comment is posted if a token is given; only `gh` receives it
# Exit status: 0; 3 if an `expect` of a site file is not met; 1 or 2 if a site file cannot be planned.
set -euo pipefail

# What a contributor wrote is planned without a token: neither this shell nor what it starts has one in its environment.
secrets=$(compgen -e | grep -E 'TOKEN|SECRET|PASSWORD|CREDENTIAL' || true)
if [[ -n $secrets ]]; then
  mapfile -t names <<<"$secrets"
  exec env "${names[@]/#/--unset=}" STRIPPED=1 bash -- "$0" 3<<<"${GH_TOKEN:-}"
fi
token=
if [[ -n ${STRIPPED:-} ]]; then read -r token <&3; exec 3<&-; fi

marker='<!-- ingest requirement diff -->'
most_bytes=60000 # GitHub takes 65,536 characters

refuse() { printf 'requirement_diff: %s\n' "$1" >&2; exit 2; }

known() { # NAME VALUE: the full hash of a commit that this clone has
  [[ $2 =~ ^[0-9a-f]{40}([0-9a-f]{24})?$ ]] || refuse "$1: expected the full hash of a commit"
  git cat-file -e "$2^{commit}" 2>/dev/null || refuse "$1: commit $2 is not in this clone; check out with fetch-depth: 0"
}

# File names are the contributor's: what Markdown, HTML or GitHub could read as more than a name becomes '?'.
plain() { printf '%s' "$1" | LC_ALL=C tr -c 'A-Za-z0-9._/ -' '?'; }

# An indented block cannot be ended by its content; control characters are dropped.
quoted() { LC_ALL=C tr -d '\000-\010\013-\037\177' | sed 's/^/    /'; }

known HEAD_SHA "${HEAD_SHA:-}"
known BASE_SHA "${BASE_SHA:-}"
head=$HEAD_SHA
base=$(git merge-base "$BASE_SHA" "$head") || refuse 'BASE_SHA and HEAD_SHA have no common commit'
mapfile -t pathspecs < <(sed '/^[[:space:]]*$/d' <<<"${SITE_FILES:-}")
((${#pathspecs[@]})) || refuse 'SITE_FILES: expected a git pathspec per line'
if [[ -n $token ]]; then
  [[ ${PR_NUMBER:-} =~ ^[0-9]+$ ]] || refuse 'PR_NUMBER: expected the number of a pull request'
  [[ ${GITHUB_REPOSITORY:-} =~ ^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$ ]] || refuse 'GITHUB_REPOSITORY: expected OWNER/NAME'
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$(git rev-parse --show-toplevel)"
for state in base head; do
  mkdir "$work/$state"
  git archive --format=tar "${!state}" | tar -x --no-same-owner -C "$work/$state"
done

planned() { # STATE PATH PLAN: plan a site file of one commit, with the files beside it; prints messages, returns the exit status
  local folder=$work/$1/$(dirname -- "$2") name
  name=$(basename -- "$2")
  (cd -- "$folder" && ingest plan "./$name" --root "$work/$1" --check -o "$3") >/dev/null 2>"$work/messages"
}

regular() { [[ $(git ls-tree "$1" -- ":(literal)$2") == 100* ]]; } # a file, no link to elsewhere

worst=0
comment=$work/comment.md
printf '%s\n### Storage requirements\n' "$marker" >"$comment"
changed=0
while IFS= read -r -d '' path; do
  changed=$((changed + 1))
  printf '\n`%s`\n\n' "$(plain "$path")" >>"$comment"
  git cat-file -e "$head:$path" 2>/dev/null || { printf 'Removed.\n' >>"$comment"; continue; }
  regular "$head" "$path" || { printf 'Not a regular file: not planned.\n' >>"$comment"; continue; }
  status=0
  planned head "$path" "$work/after.json" || status=$?
  ((status <= worst)) || worst=$status
  case $status in
    0) ;;
    3) printf 'An `expect` of the file is not met:\n\n' >>"$comment"; { grep '^ingest: ' "$work/messages" | grep -v ': warning:' || true; } | quoted >>"$comment" ;;
    *) printf 'The site file cannot be planned:\n\n' >>"$comment"; quoted <"$work/messages" >>"$comment"; continue ;;
  esac
  if ! git cat-file -e "$base:$path" 2>/dev/null || ! regular "$base" "$path"; then
    printf '\nA new site file:\n\n' >>"$comment"
    ingest plan "$work/head/$path" --root "$work/head" 2>/dev/null | quoted >>"$comment"
  elif planned base "$path" "$work/before.json" || (($? == 3)); then
    printf '\n' >>"$comment"
    ingest diff "$work/before.json" "$work/after.json" | quoted >>"$comment"
  else
    printf '\nThe state before cannot be planned:\n\n' >>"$comment"
    quoted <"$work/messages" >>"$comment"
  fi
done < <(git diff --name-only --no-renames --diff-filter=ADMT -z "$base" "$head" -- "${pathspecs[@]}")

((changed)) || { printf 'No site file changed.\n'; exit 0; }
if (($(wc -c <"$comment") > most_bytes)); then
  head -c "$most_bytes" "$comment" | iconv -f utf-8 -t utf-8 -c >"$work/short.md" || true
  printf '\n\nThe comment is cut here; run `ingest diff` for the rest.\n' >>"$work/short.md"
  comment=$work/short.md
fi

if [[ -n ${COMMENT_FILE:-} ]]; then cp -- "$comment" "$COMMENT_FILE"; else cat "$comment"; fi

if [[ -n $token ]]; then
  comments=repos/$GITHUB_REPOSITORY/issues/$PR_NUMBER/comments
  own=$(GH_TOKEN=$token gh api --paginate "$comments" --jq ".[] | select(.body | startswith(\"$marker\")) | select(.user.type == \"Bot\") | .id" | head -n 1)
  if [[ $own =~ ^[0-9]+$ ]]; then
    GH_TOKEN=$token gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$own" -F "body=@$comment" >/dev/null
  else
    GH_TOKEN=$token gh api --method POST "$comments" -F "body=@$comment" >/dev/null
  fi
fi
exit "$worst"
