# Shared by the run.sh of each example: settings that are not set come from the platform on this machine, that is from
# credentials.json in its data folder. Elsewhere, set all of them (README.md).

credentials=${PLATFORM_DATA_DIR:-$(dirname "${BASH_SOURCE[0]}")/../.platform}/credentials.json

stop() { # MESSAGE
  echo "$0: $1" >&2
  exit 2
}

need() { # COMMAND REMEDY
  command -v "$1" > /dev/null || stop "needs $1. $2"
}

need_credentials() {
  [ -r "$credentials" ] || stop "cannot read $credentials. Start a platform with npm start, or set PLATFORM_DATA_DIR to the \
folder that npm run demo -- --keep prints, or set the variables of examples/README.md."
}

credential() { # NAME: the first member of this name
  sed -n 's/^ *"'"$1"'": "\(.*\)",\{0,1\}$/\1/p' "$credentials" | head -n 1
}

decoded() { # percent-encoded text
  printf '%b' "${1//%/\\x}"
}

event_store_settings() {
  local login password
  if [ -z "${EVENTSTORE_ADDRESS:-}" ]; then
    need_credentials
    [[ $(credential eventstore_url) =~ ^esdb://([^:]+):([^@]+)@([^/?]+)\?tls=true\&tlsCAFile=(.+)$ ]] ||
      stop "$credentials names no embedded event store. Set the variables of examples/README.md."
    EVENTSTORE_ADDRESS=${BASH_REMATCH[3]} login=${BASH_REMATCH[1]} password=${BASH_REMATCH[2]}
    : "${EVENTSTORE_CA_FILE:=$(decoded "${BASH_REMATCH[4]}")}"
    [ -n "${EVENTSTORE_LOGIN:-}" ] || EVENTSTORE_LOGIN=$(decoded "$login") EVENTSTORE_PASSWORD=$(decoded "$password")
  fi
  [ -n "${EVENTSTORE_LOGIN:-}" ] && [ -n "${EVENTSTORE_PASSWORD:-}" ] ||
    stop 'needs EVENTSTORE_LOGIN and EVENTSTORE_PASSWORD, an account of the event store.'
  [ -r "${EVENTSTORE_CA_FILE:-}" ] || stop "needs EVENTSTORE_CA_FILE, the event store's certificate in a readable file."
  export EVENTSTORE_ADDRESS EVENTSTORE_CA_FILE EVENTSTORE_LOGIN EVENTSTORE_PASSWORD
}

feed_settings() {
  if [ -z "${PLATFORM_URL:-}" ]; then
    need_credentials
    PLATFORM_URL=$(credential base_url)
    [ -n "${CLIENT_ID:-}" ] || CLIENT_ID=$(credential client_id) CLIENT_SECRET=$(credential client_secret)
  fi
  [ -n "${CLIENT_ID:-}" ] && [ -n "${CLIENT_SECRET:-}" ] ||
    stop 'needs CLIENT_ID and CLIENT_SECRET, a client of the platform with the scope events:read.'
}
