#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A cron job that runs on every host of a fleet and works on one of them. It starts itself again
# under `holt run`; inside, HOLT_FENCE is set. Whoever comes second ends at once, with status 124.
#
#   0 3 * * *  /usr/local/bin/nightly.sh /var/backups        in the crontab of every host
set -eu

if [ "${HOLT_LOCK_NAME-}" != nightly ]; then
  exec holt run --lock nightly --no-wait --ttl 1m -- "$0" "$@"
fi

target=${1:?usage: nightly.sh FOLDER}
newest=$(cat "$target/fence" 2>/dev/null || echo 0)
if [ "$HOLT_FENCE" -lt "$newest" ]; then
  echo "nightly: a later run ($newest) was here" >&2
  exit 1
fi
echo "$HOLT_FENCE" >"$target/fence"
date >"$target/backup"
echo "backup done under fence $HOLT_FENCE"
