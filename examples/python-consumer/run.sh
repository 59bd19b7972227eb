#!/usr/bin/env bash
# Runs the consumer with the Python of the variable PYTHON, python3 without it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../settings.sh"

python=${PYTHON:-python3}
need "$python" 'Install Python 3.10 or newer, or set PYTHON.'
"$python" -c 'import kurrentdbclient' 2> /dev/null || stop "needs the client. Make an environment outside of the repository:
  python3 -m venv ~/consumer && ~/consumer/bin/pip install -r $here/requirements.txt
  PYTHON=~/consumer/bin/python $0"
event_store_settings
export DATABASE=${DATABASE:-$here/totals.sqlite}
exec "$python" "$here/consumer.py"
