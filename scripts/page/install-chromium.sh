#!/usr/bin/env bash
# Installs Debian's Chromium, in which the tests of the dashboard run. Code 3: it cannot be installed here; it says why.
set -euo pipefail

if [[ -n "${CHROMIUM:-}" || -x /usr/bin/chromium ]]; then
  exit 0
fi
if ! command -v apt-get >/dev/null; then
  printf 'There is no apt-get here: install a Chromium, and name its program in the variable CHROMIUM\n' >&2
  exit 3
fi
as_root=()
if ((EUID != 0)); then
  as_root=(sudo -n)
fi
if ! "${as_root[@]}" apt-get -qq update || ! "${as_root[@]}" apt-get -qq install -y --no-install-recommends chromium; then
  printf 'Chromium could not be installed (the reason stands above): install it by hand, or name another one in the variable CHROMIUM\n' >&2
  exit 3
fi
