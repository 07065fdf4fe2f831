#!/bin/sh
# Runs the whole test suite, with both cores at work: what needs Spark beside all the rest.
# With arguments, runs just that: sh tools/test.sh tests/unit -k lab
set -u
run=".venv/bin/python -m pytest"
if [ $# -gt 0 ]; then
    exec $run "$@"
fi
sh tools/browser.sh
log=$(mktemp)
trap 'rm -f "$log"' EXIT
$run tests/pipeline src/ropewalk/pipeline >"$log" 2>&1 &
spark=$!
trap 'kill $spark 2>/dev/null; rm -f "$log"; exit 130' INT TERM
$run --ignore=tests/pipeline --ignore=src/ropewalk/pipeline
rest=$?
wait $spark
piped=$?
cat "$log"
[ $rest -eq 0 ] && [ $piped -eq 0 ]
