#!/usr/bin/env bash
# The entry point of an image for Spark on Kubernetes, for pods that kubelet.py runs: what Spark says that its own does.
# `driver ARGUMENTS…` and `executor`, with the variables that Spark gives the pods.
set -euo pipefail

role=$1
shift
cd "$SPARK_HOME/work-dir"
case $role in
  driver)
    exec "$SPARK_HOME/bin/spark-submit" --deploy-mode client \
      --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" \
      --conf "spark.executorEnv.SPARK_DRIVER_POD_IP=$SPARK_DRIVER_BIND_ADDRESS" "$@"
    ;;
  executor)
    options=()
    for ((n = 0; ; n++)); do
      option=SPARK_JAVA_OPT_$n
      if [[ -z ${!option+set} ]]; then break; fi
      options+=("${!option}")
    done
    exec "${JAVA_HOME:+$JAVA_HOME/bin/}java" "${options[@]}" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
      -cp "${SPARK_CLASSPATH:-}:$SPARK_HOME/jars/*" \
      org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend --driver-url "$SPARK_DRIVER_URL" \
      --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" --app-id "$SPARK_APPLICATION_ID" \
      --hostname "$SPARK_EXECUTOR_POD_IP" --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" \
      --podName "$SPARK_EXECUTOR_POD_NAME"
    ;;
  *)
    echo "an image for Spark runs a driver or an executor, not '$role'" >&2
    exit 64
    ;;
esac
