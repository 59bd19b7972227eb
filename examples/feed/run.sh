#!/usr/bin/env bash
# Follows a channel over HTTP. Appends each event once to events.jsonl. It may end at any moment, by SIGKILL too.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../settings.sh"

need curl 'Install curl.'
need jq 'Install jq.'
feed_settings
channel=${CHANNEL:-assessment}
folder=${FEED_FOLDER:-$here/state} # of one run at a time
table=$folder/events.jsonl cursor=$folder/cursor
mkdir -p "$folder"
touch "$table" "$cursor"

# The secret and the token reach curl by files, because every local user can read arguments.
renew_token() {
  local reply
  reply=$(printf %s "$CLIENT_SECRET" | curl -sS "$PLATFORM_URL/v1/auth/oauth/token" \
    -d grant_type=client_credentials --data-urlencode "client_id=$CLIENT_ID" --data-urlencode client_secret@-) || true
  token=$(jq -r '.access_token // empty' <<< "$reply") && [ -n "$token" ] && return
  echo "no token: $reply" >&2
  sleep 10
}

# Waits up to 25 s for the next events.
next_page() { # AFTER
  local reply
  reply=$(curl -sS --max-time 60 -w '\n%{http_code}' -G "$PLATFORM_URL/v1/events/$channel" \
    -H @<(echo "Authorization: Bearer $token") -H 'Prefer: wait=25' -d limit=100 ${1:+-d after="$1"}) || true
  status=${reply##*$'\n'} page=${reply%$'\n'*}
}

# The effect. A stop before the cursor is stored repeats a page. The events that are in the table already are left out.
# printf is a part of bash: a kill leaves no process behind that goes on to write.
append_new_events() {
  local new
  new=$(cat "$table" - <<< "$page" |
    jq -cs '(.[:-1] | INDEX(.event_id)) as $known | .[-1].data[] | select($known[.event_id] | not)')
  [ -n "$new" ] || return 0
  printf '%s\n' "$new" >> "$table"
  printf '%s\n' "$new"
  sync "$table"
}

store_cursor() { # CURSOR
  echo "$1" > "$cursor.new"
  mv "$cursor.new" "$cursor"
}

# A kill may have left half a line at the end.
[ -z "$(tail -c 1 "$table")" ] || sed -i '$d' "$table"

renew_token
while :; do
  next_page "$(cat "$cursor")"
  case $status in
    200)
      append_new_events
      store_cursor "$(jq -r .next_cursor <<< "$page")"
      ;;
    401)
      echo 'gets a new token' >&2
      renew_token
      ;;
    410)
      # Events may be missing here. Read the state of your records by the GET routes, then go on.
      echo 'the cursor is lost: events may be missing from here on' >&2
      store_cursor "$(jq -r .oldest_cursor <<< "$page")"
      ;;
    000 | 429 | 5??) sleep 5 ;; # the connection, the limits or the platform
    *)
      echo "$0: $status $(jq -r .detail <<< "$page")" >&2
      exit 1
      ;;
  esac
done
