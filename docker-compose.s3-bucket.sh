#!/bin/sh
# Creates the bucket at the first start, and notes that in a file on a volume of its own. Later starts only look for
# the bucket: an empty one in place of a lost one would hide that photographs are missing.
set -eu
made=$1

shell() { echo "$1" | weed shell -master=s3:9333; }
exists() { shell s3.bucket.list 2>/dev/null | grep -Eq '(^|[[:space:]])clinical-assessments([[:space:]]|$)'; }
found() {
  for _ in 1 2 3 4 5; do
    if exists; then return 0; fi
    sleep "${PAUSE_SECONDS:-2}"
  done
  return 1
}

if [ -e "$made" ]; then
  found && exit 0
  echo 'the bucket clinical-assessments is gone: restore the volume s3-data (nothing was created)' >&2
  exit 1
fi
exists || shell 's3.bucket.create -name clinical-assessments'
found || { echo 'the bucket clinical-assessments was not created' >&2; exit 1; }
: > "$made"
