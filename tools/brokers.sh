#!/bin/sh
# Installs Mosquitto and RabbitMQ for the lab and its tests, where that can be done; starts neither.
# Without them everything on NATS still works, so nothing here is an error. ROPEWALK_APT=no skips it.
set -u

missing=
for one in mosquitto rabbitmq-server; do
    [ -x "/usr/sbin/$one" ] || command -v "$one" >/dev/null || missing="$missing $one"
done
[ -n "$missing" ] || exit 0

skip() {
    echo "setup: without$missing ($1): labs and tests on them are skipped" >&2
    exit 0
}
[ "${ROPEWALK_APT:-yes}" != no ] || skip "ROPEWALK_APT=no"
command -v apt-get >/dev/null || skip "there is no apt-get"
[ "$(id -u)" = 0 ] || skip "not root: run 'apt-get install$missing' as root"

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
echo "setup: installing$missing (once)" >&2
# shellcheck disable=SC2086  # one word per package
if apt install -y --no-install-recommends $missing || { apt update && apt install -y --no-install-recommends $missing; }; then
    rm -f "$log"
else
    tail -n 3 "$log" >&2
    rm -f "$log"
    skip "apt-get failed"
fi
