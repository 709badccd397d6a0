#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy on the sources that differ from the last commit, or with --all on every one.
# Needs build/clang/compile_commands.json, which `make lint` sees to.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1:-} == --all ]] || ! git rev-parse --verify -q HEAD >/dev/null; then
  changed=$(find include src -name '*.[ch]pp')
else
  changed=$(git diff --name-only --diff-filter=d HEAD -- include src 2>/dev/null || true
            git ls-files --others --exclude-standard -- include src)
fi
# A header is checked through the sources that include it; the one of the same name will do.
mapfile -t files < <(sed -n 's/\.[ch]pp$/.cpp/p' <<<"$changed" | sort -u |
  while read -r file; do [[ -f $file && $file != */asio_impl.cpp ]] && echo "$file"; done)
if ((${#files[@]} == 0)); then
  echo "clang-tidy: nothing has changed in src (make lint ALL=1 checks everything)"
  exit 0
fi

# The headers of SQL and scripts are made by the build.
cmake --build build/clang --target holt_engine_sqlite_sql holt_engine_redis_scripts \
  holt_engine_postgres_sql >/dev/null
echo "clang-tidy: ${#files[@]} files"
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy-19 --quiet --use-color=0 -p build/clang 2> >(
    grep -v -e 'warnings generated' -e 'Suppressed ' -e 'Use -header-filter' >&2)
