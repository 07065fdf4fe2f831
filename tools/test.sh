#!/bin/sh
# Runs the whole test suite, with both cores at work: what needs Spark, and some more so that both
# parts take about as long, beside all the rest.
# With arguments, runs just that: sh tools/test.sh tests/unit -k lab
set -u
run=".venv/bin/python -m pytest"
if [ $# -gt 0 ]; then
    exec $run "$@"
fi
sh tools/browser.sh
beside="tests/conformance tests/web tests/papers tests/pipeline src/ropewalk/pipeline"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086  # one word per folder
$run $beside >"$log" 2>&1 &
spark=$!
trap 'kill $spark 2>/dev/null; rm -f "$log"; exit 130' INT TERM
# shellcheck disable=SC2046,SC2086
$run $(printf -- '--ignore=%s ' $beside)
rest=$?
wait $spark
piped=$?
cat "$log"
[ $rest -eq 0 ] && [ $piped -eq 0 ]
