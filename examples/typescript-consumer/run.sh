#!/usr/bin/env bash
# usage: run.sh [follow | compete | group create | group show | group replay]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../settings.sh"

PATH=$here/../../node_modules/.bin:$PATH # the platform brings a Node.js that is new enough
need node 'Install Node.js 22.18 or newer.'
(cd "$here" && node -e 'if (!process.features.typescript) process.exit(3); require.resolve("@eventstore/db-client")' 2> /dev/null) ||
  case $? in
    3) stop "needs Node.js 22.18 or newer, found $(node --version)." ;;
    *) stop "needs the client. Run npm ci in the repository, or npm install in $here." ;;
  esac
event_store_settings

program=${1:-follow}
case $program in
  follow | compete | group) shift $(($# > 0)) ;;
  *) stop "knows the programs follow, compete and group." ;;
esac
export DATABASE=${DATABASE:-$here/totals.sqlite}
exec node --disable-warning=ExperimentalWarning "$here/$program.ts" "$@"
