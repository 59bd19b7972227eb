#!/usr/bin/env bash
# Builds the consumer into the user's cache and runs it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../settings.sh"

need go 'Install Go 1.24 or newer.'
event_store_settings
program=${XDG_CACHE_HOME:-$HOME/.cache}/example-go-consumer/consumer
go build -C "$here" -o "$program" . || stop 'cannot build the consumer. The first build fetches the modules of go.mod.'
export DATABASE=${DATABASE:-$here/totals.sqlite}
exec "$program"
