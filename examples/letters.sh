#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A worker in shell: each task of the queue "letters" is a letter to write. It starts itself again
# under `holt work`, once per task; inside, HOLT_TASK_ID is set and the payload is on stdin.
#
#   letters.sh FOLDER &                                              as often as you like
#   holt queue add letters --kind letter --payload ada --wait 10s    prints what was written
#   printf 'bob\neve\n' | holt queue add letters --kind letter --payload -
set -eu

folder=${1:?usage: letters.sh FOLDER}
if [ -z "${HOLT_TASK_ID-}" ]; then
  exec holt work --queue letters --kind letter --ttl 2s -- "$0" "$folder"
fi

[ -d "$folder" ] || exit 75            # not there at the moment: tried again, at no cost
to=$(cat)
case $to in
*[!a-z]* | '') echo "\"$to\" is no name" >&2; exit 65 ;;  # dead: trying again cannot help
esac
# One letter per task, whatever the attempt: the id is the same for all of them.
letter=$folder/$(echo "$HOLT_TASK_ID" | tr / -)
echo "Dear $to," >"$letter.$HOLT_FENCE"
mv "$letter.$HOLT_FENCE" "$letter"
cat "$letter"                          # the result
