#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fails when the program given needs a shared library beyond the compiler's and C's own: each one
# more is start-up time that every command pays.
set -euo pipefail

allowed='^(linux-vdso|libstdc\+\+|libgcc_s|libm|libc|ld-linux[a-z0-9-]*)\.so'
extra=$(ldd "$1" | awk '{ sub(".*/", "", $1); print $1 }' | grep -Ev "$allowed" || true)
if [[ -n $extra ]]; then
  echo "$1 links more than libstdc++, libm, libgcc_s and libc:" >&2
  echo "$extra" >&2
  echo "link the static archive instead (cmake/dependencies.cmake)" >&2
  exit 1
fi
