#!/bin/sh
# Starts one part of a Spark cluster in the foreground, from the PySpark that Ropewalk is installed
# with, so that all parts are of one version:
#   standalone.sh master HOST [PORT]            the master; others find it at spark://HOST:PORT
#   standalone.sh worker HOST MASTER-URL        a worker on this host
# PYTHON is the interpreter that Ropewalk is installed for (default: python3 on PATH); every worker
# needs the same Ropewalk at the same path. SPARK_WORKER_CORES, SPARK_WORKER_MEMORY and
# SPARK_WORKER_DIR are Spark's own.
set -eu

usage="usage: $0 master HOST [PORT] | worker HOST MASTER-URL"
[ $# -ge 2 ] || { echo "$usage" >&2; exit 2; }
python=${PYTHON:-python3}
SPARK_HOME=$("$python" -c 'import pyspark; print(*pyspark.__path__)')
JAVA_HOME=$("$python" -c 'from ropewalk.pipeline.java import java_home; print(java_home())')
export SPARK_HOME JAVA_HOME
export SPARK_LOCAL_IP="$2" SPARK_NO_DAEMONIZE=1

case $1 in
master)
    exec "$SPARK_HOME/bin/spark-class" org.apache.spark.deploy.master.Master \
        --host "$2" --port "${3:-7077}" --webui-port "${SPARK_MASTER_WEBUI_PORT:-8080}"
    ;;
worker)
    [ $# -eq 3 ] || { echo "$usage" >&2; exit 2; }
    exec "$SPARK_HOME/bin/spark-class" org.apache.spark.deploy.worker.Worker \
        --host "$2" --webui-port "${SPARK_WORKER_WEBUI_PORT:-8081}" "$3"
    ;;
*)
    echo "$usage" >&2
    exit 2
    ;;
esac
