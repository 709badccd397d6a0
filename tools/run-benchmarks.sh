#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs every benchmark program of a build folder, one after the other.
# Usage: tools/run-benchmarks.sh BUILD_FOLDER
set -euo pipefail

shopt -s nullglob
programs=("$1"/*_bench)
((${#programs[@]} > 0)) || { echo "run-benchmarks: no *_bench in $1" >&2; exit 1; }
cd "$1"  # the stores of the benchmarks are made here
for program in "${programs[@]}"; do
  echo "==> ${program##*/}"
  HOLT_BINARY="$PWD/holt" "./${program##*/}"
done
