#!/bin/sh
# Runs a job of the pipeline by spark-submit:
#   submit.sh spark://HOST:7077 all /shared/traces-of-today --json
#   submit.sh 'local[4]' audit lab
# PYTHON is the interpreter that Ropewalk is installed for, at the same path on every worker
# (default: python3 on PATH). SUBMIT_OPTIONS go to spark-submit as they are, such as
# "--executor-memory 8g --conf spark.executor.cores=4".
set -eu

[ $# -ge 3 ] || { echo "usage: $0 MASTER JOB FOLDER [OPTION...]" >&2; exit 2; }
python=${PYTHON:-python3}
master=$1
shift
SPARK_HOME=$("$python" -c 'import pyspark; print(*pyspark.__path__)')
JAVA_HOME=$("$python" -c 'from ropewalk.pipeline.java import java_home; print(java_home())')
PYSPARK_PYTHON=$("$python" -c 'import sys; print(sys.executable)')
export SPARK_HOME JAVA_HOME PYSPARK_PYTHON
main=$("$python" -c 'import ropewalk; print(*ropewalk.__path__)')/__main__.py
# shellcheck disable=SC2086  # one word per option
exec "$SPARK_HOME/bin/spark-submit" --master "$master" --name "ropewalk $1" ${SUBMIT_OPTIONS:-} \
    "$main" pipeline "$@"
