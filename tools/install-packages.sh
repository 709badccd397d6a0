#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages of the named sections of packages.txt, if any are missing.
# Usage: tools/install-packages.sh SECTION...
set -euo pipefail

list="$(dirname "$0")/../packages.txt"

die() {
  printf 'install-packages: %s\n' "$@" >&2
  exit 1
}

wanted_packages() {  # SECTION...
  local section package rest
  while read -r section package rest; do
    [[ " $* " == *" ${section%:} "* && $section == *: ]] && echo "$package"
  done <"$list"
  return 0
}

missing_packages() {  # PACKAGE...
  local -A have=()
  local name status package
  while read -r name status; do
    [[ $status == installed ]] && have[$name]=1
  done < <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do
    [[ -v have[$package] ]] || echo "$package"
  done
}

as_root() {
  local root=()
  ((EUID == 0)) || root=(sudo)
  "${root[@]}" "$@"
}

apt() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q "$@"
}

# Servers among the packages are for tests to start, on ports of their own. While packages are
# installed no service is started (Debian asks policy-rc.d; one that is there is left alone), and
# those that came with them are not started at the next boot either.
policy=/usr/sbin/policy-rc.d

forbid_services() {
  [[ ! -e $policy ]] || return 0
  trap 'as_root rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
  as_root chmod 755 "$policy"
}

disable_services() {  # PACKAGE...
  command -v systemctl >/dev/null || return 0
  local units
  mapfile -t units < <(dpkg -L "$@" | sed -nE 's|^.*/lib/systemd/system/([^@/]+\.service)$|\1|p')
  ((${#units[@]} == 0)) || as_root systemctl --quiet disable "${units[@]}" ||
    echo "install-packages: could not switch off: ${units[*]}" >&2
}

(($# > 0)) || die "no section named; usage: tools/install-packages.sh build|test|bench ..."
mapfile -t wanted < <(wanted_packages "$@")
((${#wanted[@]} > 0)) || die "packages.txt has no section called: $*"

command -v dpkg-query >/dev/null || die \
  "this is not a Debian system (no dpkg-query), so nothing can be installed here." \
  "Try: install what packages.txt lists under '$*' by hand and run cmake directly (see README)."

mapfile -t missing < <(missing_packages "${wanted[@]}")
((${#missing[@]} > 0)) || exit 0
echo "==> installing Debian packages: ${missing[*]}"

command -v apt-get >/dev/null || die "missing: ${missing[*]}" \
  "There is no apt-get here. Try: install them by hand."
((EUID == 0)) || command -v sudo >/dev/null || die "missing: ${missing[*]}" \
  "Installing needs root, and there is no sudo." \
  "Try, as root: apt-get install ${missing[*]}"

apt update || die "apt-get update failed (its message is above), so ${missing[*]} cannot be had." \
  "Try: check the network and the sources in /etc/apt, then run the same command again."
forbid_services
apt install -y --no-install-recommends "${missing[@]}" || die \
  "apt-get could not install: ${missing[*]} (its message is above)." \
  "Holt is built on Debian 12; on another release a package may have another name." \
  "Try: apt-cache policy ${missing[*]}"
disable_services "${missing[@]}"
