#!/bin/sh
# Makes .venv with everything pinned in constraints.txt. Needs python3 (3.11 or newer) and nothing else.
set -eu

for name in python3 python3.14 python3.13 python3.12 python3.11; do
    if command -v "$name" >/dev/null && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        python=$name
        break
    fi
done
if [ -z "${python:-}" ]; then
    echo "setup: Ropewalk needs Python 3.11 or newer, and none was found: install python3" >&2
    exit 1
fi

# Debian and Ubuntu ship venv apart from python3.
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    as_root=
    [ "$(id -u)" = 0 ] || as_root="sudo -n"
    echo "setup: installing python3-venv" >&2
    if ! { $as_root apt-get update -qq && $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv; } >&2; then
        echo "setup: $python has no venv module: run 'apt-get install python3-venv' as root" >&2
        exit 1
    fi
fi

echo "setup: installing into .venv (a few minutes, once)" >&2
rm -f .venv/.ready
"$python" -m venv --clear .venv
pip() {
    if ! .venv/bin/python -m pip --disable-pip-version-check --no-input "$@" >.venv/setup.log 2>&1; then
        tail -n 20 .venv/setup.log >&2
        echo "setup: pip failed; all it said is in .venv/setup.log" >&2
        exit 1
    fi
}
# Without isolation every build needs its tools here: hatchling builds ours, setuptools PySpark's.
pip install --constraint constraints.txt --upgrade hatchling editables setuptools
pip install --constraint constraints.txt --no-build-isolation --editable '.[dev]'
echo "setup: compiling kernels (once)" >&2
.venv/bin/ropewalk generate six-broker | .venv/bin/ropewalk smv - >/dev/null
.venv/bin/ropewalk generate six-node | .venv/bin/ropewalk route - >/dev/null
.venv/bin/ropewalk verify examples/latency.yaml --latency >/dev/null || true
.venv/bin/ropewalk generate gap-validation | .venv/bin/ropewalk paths - --radius-km 2 >/dev/null
.venv/bin/ropewalk place examples/placement/federation.yaml --stats examples/placement >/dev/null 2>&1 || true
.venv/bin/ropewalk population check examples/population/*.yaml >/dev/null
echo "setup: preparing Spark (once)" >&2
.venv/bin/python -m ropewalk.pipeline.quick >/dev/null 2>&1 || true
.venv/bin/python -m ropewalk.pipeline.audit.warm
sh tools/brokers.sh
touch .venv/.ready
