#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Formats all C++ sources, or with --check only says which ones are not formatted.
set -euo pipefail
cd "$(dirname "$0")/.."

format=clang-format-19
if ! command -v "$format" >/dev/null; then
  echo "format: $format is missing; try: tools/install-packages.sh test" >&2
  exit 1
fi

mapfile -d '' files < <(find include src tests bench examples -name node_modules -prune -o \
  -name '*.[ch]pp' -print0 2>/dev/null)
((${#files[@]} > 0)) || exit 0
if [[ ${1:-} != --check ]]; then
  exec "$format" -i "${files[@]}"
fi
bad=$("$format" --dry-run "${files[@]}" 2>&1 |
  sed -nE 's/^([^: ]+:[0-9]+):.* warning: .*/\1/p' | sort -u -t: -k1,1 || true)
if [[ -n $bad ]]; then
  sed 's/$/: format: not as clang-format wants it, run `make format`/' <<<"$bad" >&2
  exit 1
fi
