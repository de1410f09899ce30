package io.sluice.spark.conf;

import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.spark.SparkConf;

/**
 * How much block memory one executor may use, and why.
 *
 * <p>{@code auto} follows from the cores, but takes no more than a share of what the executor's container grants beyond
 * the Java heap, because the JVM itself, Netty and Python need the rest: a process that takes more is killed.
 *
 * @param bytes all tasks together
 * @param ceilingBytes a task that is the only one to hold memory, for rows that do not fit {@code bytes}; the same as
 *     {@code bytes} when the user has set the limit
 * @param reason where the number comes from
 * @param warning a problem with the limit, if there is one
 */
public record MemoryLimit(long bytes, long ceilingBytes, String reason, Optional<String> warning) {
  private static final long MIB = 1024L * 1024L;
  private static final long MIN_BY_CORES = 256 * MIB;
  private static final long PER_CORE = 96 * MIB;
  /** Memory that an executor's JVM needs beyond its heap without any shuffle. */
  private static final long JVM_OWN = 256 * MIB;
  /** The share of the container's grant that shuffles may take. */
  private static final long GRANT_SHARE = 6;
  /** Less than this makes tasks spill all the time. */
  private static final long LEAST = 64 * MIB;
  private static final long LEAST_PER_TASK = 16 * MIB;

  /** Memory that the executor's container has beyond the heap, and where that number comes from. */
  private record Grant(long bytes, String source) {}

  /** @param set the user's setting; empty for {@code auto} */
  static MemoryLimit of(SparkConf conf, ProcessGrant process, Cores cores, OptionalLong set) {
    Optional<Grant> grant = grant(conf, process);
    if (set.isPresent()) {
      long bytes = set.getAsLong();
      return new MemoryLimit(bytes, bytes, "set by the user",
          grant.filter(g -> bytes > g.bytes()).map(g -> tooLarge(bytes, g)));
    }
    long byCores = Math.max(MIN_BY_CORES, PER_CORE * cores.tasks());
    if (grant.isEmpty()) {
      long machine = process.machineBytes() - process.heapBytes();
      return new MemoryLimit(byCores, Math.max(byCores, machine),
          "auto: 96 MiB per core, at least 256 MiB; nothing says what the process may use beyond the Java heap",
          Optional.empty());
    }
    long granted = grant.get().bytes();
    long bytes = Math.min(byCores, Math.max(Math.max(LEAST, LEAST_PER_TASK * cores.tasks()), granted / GRANT_SHARE));
    Optional<String> tight = bytes > granted / 2 ? Optional.of("shuffles need at least " + mib(bytes)
        + " beside what the JVM itself takes, but the container has " + mib(granted) + " beyond the Java heap ("
        + grant.get().source() + "): raise spark.executor.memoryOverhead") : Optional.empty();
    return new MemoryLimit(bytes, Math.max(bytes, granted - JVM_OWN),
        "auto: of the " + mib(granted) + " that the container has beyond the Java heap (" + grant.get().source() + ")",
        tight);
  }

  private static String tooLarge(long bytes, Grant grant) {
    return "spark.sluice.memory.limit = " + mib(bytes) + " is more than the " + mib(grant.bytes())
        + " that the container has beyond the Java heap (" + grant.source() + "): the executor may be killed for it."
        + " Lower the limit or raise spark.executor.memoryOverhead";
  }

  private static Optional<Grant> grant(SparkConf conf, ProcessGrant process) {
    if (process.runsTasks() && process.memoryBytes().isPresent()) {
      long limit = process.memoryBytes().getAsLong();
      long others = offHeapBytes(conf) + conf.getSizeAsMb("spark.executor.pyspark.memory", "0") * MIB;
      return Optional.of(new Grant(Math.max(0, limit - process.heapBytes() - others),
          "cgroup limit " + mib(limit) + ", heap " + mib(process.heapBytes())));
    }
    String master = conf.get("spark.master", "");
    return master.startsWith("yarn") || master.startsWith("k8s")
        ? Optional.of(overhead(conf, master.startsWith("k8s"))) : Optional.empty();
  }

  /** As Spark's YARN and Kubernetes backends size a container. */
  private static Grant overhead(SparkConf conf, boolean kubernetes) {
    if (conf.contains("spark.executor.memoryOverhead")) {
      return new Grant(conf.getSizeAsMb("spark.executor.memoryOverhead") * MIB, "spark.executor.memoryOverhead");
    }
    String factorKey = kubernetes && !conf.contains("spark.executor.memoryOverheadFactor")
        ? "spark.kubernetes.memoryOverheadFactor" : "spark.executor.memoryOverheadFactor";
    double factor = conf.getDouble(factorKey, 0.1);
    long heap = conf.getSizeAsMb("spark.executor.memory", "1g") * MIB;
    long least = conf.getSizeAsMb("spark.executor.minMemoryOverhead", "384m") * MIB;
    return new Grant(Math.max(least, (long) (heap * factor)), String.format(Locale.ROOT,
        "spark.executor.memoryOverhead is not set: %.2f of spark.executor.memory, at least %s", factor, mib(least)));
  }

  static long offHeapBytes(SparkConf conf) {
    return conf.getBoolean("spark.memory.offHeap.enabled", false)
        ? conf.getSizeAsBytes("spark.memory.offHeap.size", "0") : 0;
  }

  /** One line for the log and {@code ./sluice conf}. */
  public String describe() {
    return "shuffles of one executor use up to " + mib(bytes) + " outside the Java heap (" + reason + ")"
        + (ceilingBytes > bytes ? "; a task alone up to " + mib(ceilingBytes) + " for rows that do not fit that" : "");
  }

  private static String mib(long bytes) {
    return bytes / MIB + " MiB";
  }
}
