#!/usr/bin/env bash
# Install what a command needs, unless it is installed already:
#   setup.sh base      the virtual environment .venv with the packages that tomannot needs
#   setup.sh dev       the same, with the packages that tests and checks need
#   setup.sh installer uv, which compiles and audits requirements
#   setup.sh servers   nginx, PgBouncer, Caddy and a C compiler, for the tests of several machines and of proxies
#   setup.sh tests     all that the tests need: dev and servers, a Chromium, and SPIN, which checks the model of the slot protocol
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*" >&2; }
stop() { say "$@"; exit 1; }

usable_python() { # a Python of at least 3.11 that can create virtual environments
  "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
  local name
  for name in ${PYTHON:-} python3.11 python3 python3.12 python3.13 python3.14 python; do
    if usable_python "$name"; then command -v "$name"; return; fi
  done
  stop "No usable Python found. tomannot needs Python 3.11 or newer with its venv module" \
    "(Debian and Ubuntu: apt-get install python3 python3-venv). PYTHON=/path/to/python names one elsewhere."
}

make_environment() {
  # A virtual environment holds absolute paths: recreate one that was moved or lost its Python.
  local here
  here=$(pwd -P)
  if [ "$(cat .venv/location 2>/dev/null)" = "$here" ] && .venv/bin/python -m pip --version >/dev/null 2>&1; then
    return
  fi
  local python
  python=$(find_python)
  say "creating .venv with $("$python" --version)"
  rm -rf .venv
  "$python" -m venv .venv || stop "The virtual environment could not be made; see the message above."
  printf '%s\n' "$here" >.venv/location
}

with_pip() { .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --require-hashes -r "$1"; }

with_uv() { # in seconds, where pip takes minutes
  with_pip requirements/installer.txt || return 1
  # uv does not read pip's settings. These say where packages are; with others pip has to do it.
  local index=${PIP_INDEX_URL:-$(.venv/bin/python -m pip config get global.index-url 2>/dev/null)}
  UV_NO_INDEX=${PIP_NO_INDEX:-} UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX:-$index} UV_FIND_LINKS=${UV_FIND_LINKS:-${PIP_FIND_LINKS:-}} \
    .venv/bin/uv pip install --quiet --python .venv/bin/python --require-hashes -r "$1"
}

install() { # one set of requirements, only if its lock file has changed since the last time
  local lock=requirements/$1.txt stamp=.venv/$1.installed
  if cmp -s "$lock" "$stamp"; then return; fi
  say "installing $(grep -c '^[A-Za-z]' "$lock") packages from $lock"
  with_uv "$lock" || with_pip "$lock" \
    || stop "The packages could not be installed; see the messages above. Offline, set PIP_FIND_LINKS to a directory of wheels."
  cp "$lock" "$stamp"
  if [ "$1" = dev ]; then cp requirements/base.txt .venv/base.installed; fi
}

find_browser() {
  local name
  for name in ${CHROMIUM:-} chromium chromium-browser google-chrome google-chrome-stable; do
    if "$name" --version >/dev/null 2>&1; then return 0; fi
  done
  return 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

find_lists() { # whether apt-get may be used; it then knows the newest packages
  command -v apt-get >/dev/null || return 1
  as_root true >/dev/null 2>&1 || return 1
  say "installing $1 with apt-get (once)"
  if [ -z "${lists_are_new:-}" ]; then as_root apt-get update -qq >&2 || return 1; fi
  lists_are_new=yes
}

install_packages() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null >&2
}

install_browser() {
  # The headless shell is Chromium without windows: less CPU time. One test needs the full Chromium.
  find_lists Chromium || return 1
  install_packages chromium fonts-liberation chromium-headless-shell || install_packages chromium fonts-liberation
}

find_checker() { command -v spin >/dev/null && command -v gcc >/dev/null; }

ensure_checker() {
  if find_checker; then return; fi
  if find_lists SPIN && install_packages spin gcc libc6-dev && find_checker; then return; fi
  say "NO SPIN: it and gcc are not on the PATH and could not be installed, so the slot protocol will NOT be checked."
  say "Install them (Debian: apt-get install spin gcc libc6-dev)."
  if [ "${CI:-}" = true ]; then stop "With CI=true the model must be checked."; fi
}

ensure_browser() {
  if find_browser; then return; fi
  if install_browser && find_browser; then return; fi
  say "NO CHROMIUM: it is not on the PATH and could not be installed, so the browser tests will NOT run."
  say "Install it (Debian: apt-get install chromium) or set CHROMIUM=/path/to/chromium."
  if [ "${CI:-}" = true ]; then stop "With CI=true the browser tests must run."; fi
}

find_servers() { (PATH=$PATH:/usr/sbin; command -v nginx && command -v pgbouncer && command -v caddy && command -v gcc) >/dev/null; }

ensure_servers() {
  if find_servers; then return; fi
  # Their services stay off: the tests start both themselves.
  if find_lists "nginx, PgBouncer, Caddy and gcc" && RUNLEVEL=1 install_packages nginx-light pgbouncer caddy gcc libc6-dev && find_servers; then return; fi
  say "NO NGINX, PGBOUNCER, CADDY OR GCC: they are not installed and could not be: several machines will NOT be tried."
  say "Install them (Debian: apt-get install nginx-light pgbouncer caddy gcc libc6-dev)."
  if [ "${CI:-}" = true ]; then stop "With CI=true several machines must be tried."; fi
}

compile_tests() { # in a fresh clone, while packages are installed: each of the tests' workers would do it for itself
  if [ ! -d tests/__pycache__ ]; then .venv/bin/python -m pytest --collect-only --quiet >/dev/null 2>&1; fi
}

ensure_tests() {
  compile_tests &
  ensure_browser
  ensure_checker
  ensure_servers
  wait # whatever is wrong with the tests, their run will say it
}

case "${1:-}" in
  base | dev) make_environment; install "$1" ;;
  installer) make_environment; with_pip requirements/installer.txt ;;
  servers) ensure_servers ;;
  tests) make_environment; install dev; ensure_tests ;;
  *) stop "usage: scripts/setup.sh base|dev|installer|servers|tests" ;;
esac
