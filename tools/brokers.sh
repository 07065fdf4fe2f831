#!/bin/sh
# Installs Mosquitto and RabbitMQ for the lab and its tests; without them all on NATS still works.
set -u
missing=
for one in mosquitto rabbitmq-server; do
    [ -x "/usr/sbin/$one" ] || command -v "$one" >/dev/null || missing="$missing $one"
done
[ -n "$missing" ] || exit 0
# shellcheck disable=SC2086  # one word per package
exec sh "$(dirname "$0")/apt.sh" "labs and tests on them are skipped" $missing
