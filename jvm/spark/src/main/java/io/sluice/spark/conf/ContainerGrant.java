package io.sluice.spark.conf;

import java.util.Locale;
import java.util.Optional;
import org.apache.spark.SparkConf;

/**
 * The memory that an executor's container has beyond the Java heap. A process that takes more is killed.
 *
 * @param source where the number comes from, for messages
 */
record ContainerGrant(long bytes, String source) {
  private static final long MIB = 1024L * 1024L;

  /** Empty where nothing says what the process may use. */
  static Optional<ContainerGrant> of(SparkConf conf, ProcessGrant process) {
    if (process.runsTasks() && process.memoryBytes().isPresent()) {
      long limit = process.memoryBytes().getAsLong();
      long others = MemoryLimit.offHeapBytes(conf) + conf.getSizeAsMb("spark.executor.pyspark.memory", "0") * MIB;
      return Optional.of(new ContainerGrant(Math.max(0, limit - process.heapBytes() - others),
          "cgroup limit " + MemoryLimit.mib(limit) + ", heap " + MemoryLimit.mib(process.heapBytes())));
    }
    String master = conf.get("spark.master", "");
    return master.startsWith("yarn") || master.startsWith("k8s")
        ? Optional.of(overhead(conf, master.startsWith("k8s"))) : Optional.empty();
  }

  /** As Spark's YARN and Kubernetes backends size a container. */
  private static ContainerGrant overhead(SparkConf conf, boolean kubernetes) {
    if (conf.contains("spark.executor.memoryOverhead")) {
      return new ContainerGrant(conf.getSizeAsMb("spark.executor.memoryOverhead") * MIB,
          "spark.executor.memoryOverhead");
    }
    String factorKey = kubernetes && !conf.contains("spark.executor.memoryOverheadFactor")
        ? "spark.kubernetes.memoryOverheadFactor" : "spark.executor.memoryOverheadFactor";
    double factor = conf.getDouble(factorKey, 0.1);
    long heap = conf.getSizeAsMb("spark.executor.memory", "1g") * MIB;
    long least = conf.getSizeAsMb("spark.executor.minMemoryOverhead", "384m") * MIB;
    return new ContainerGrant(Math.max(least, (long) (heap * factor)), String.format(Locale.ROOT,
        "spark.executor.memoryOverhead is not set: %.2f of spark.executor.memory, at least %s", factor,
        MemoryLimit.mib(least)));
  }
}
