#!/bin/sh
# Installs Chromium for the console's tests; nothing else needs it.
set -u
for one in chromium chromium-browser; do
    command -v "$one" >/dev/null && exit 0
done
exec sh "$(dirname "$0")/apt.sh" "the console's tests in a browser are skipped" chromium fonts-dejavu-core
