#!/bin/sh
# apt.sh LOSS PACKAGE...: installs Debian packages where that can be done, and starts nothing.
# Where it cannot, it says what is lost, and that is no error. ROPEWALK_APT=no skips it.
set -u
loss=$1
shift

skip() {
    echo "setup: without $* ($why): $loss" >&2
    exit 0
}
why="ROPEWALK_APT=no"; [ "${ROPEWALK_APT:-yes}" != no ] || skip "$@"
why="there is no apt-get"; command -v apt-get >/dev/null || skip "$@"
why="not root: run 'apt-get install $*' as root"; [ "$(id -u)" = 0 ] || skip "$@"

# Debian starts a service when it is installed, unless this file says no.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 1' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi

log=$(mktemp)
apt() {
    RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get -qq \
        -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o DPkg::Lock::Timeout=60 "$@" >>"$log" 2>&1 </dev/null
}
echo "setup: installing $* (once)" >&2
if apt install -y --no-install-recommends "$@" || { apt update && apt install -y --no-install-recommends "$@"; }; then
    rm -f "$log"
else
    tail -n 3 "$log" >&2
    rm -f "$log"
    why="apt-get failed"; skip "$@"
fi
