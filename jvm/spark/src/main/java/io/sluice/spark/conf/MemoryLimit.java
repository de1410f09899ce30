package io.sluice.spark.conf;

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

  /**
   * @param set the user's setting; empty for {@code auto}
   * @param otherBytes the most that the executor keeps in memory beside the shuffles' own: map outputs, and blocks that
   *     arrive one-sidedly
   */
  static MemoryLimit of(SparkConf conf, ProcessGrant process, Cores cores, OptionalLong set, long otherBytes) {
    Optional<ContainerGrant> grant = ContainerGrant.of(conf, process);
    if (set.isPresent()) {
      long bytes = set.getAsLong();
      return new MemoryLimit(bytes, bytes, "set by the user",
          grant.filter(g -> bytes > g.bytes()).map(g -> tooLarge(bytes, g)));
    }
    if (grant.isEmpty()) {
      long machine = process.machineBytes() - process.heapBytes();
      return new MemoryLimit(byCores(cores), Math.max(byCores(cores), machine - otherBytes),
          "auto: 96 MiB per core, at least 256 MiB; nothing says what the process may use beyond the Java heap",
          Optional.empty());
    }
    long granted = grant.get().bytes();
    long bytes = byGrant(granted, cores);
    Optional<String> tight = bytes > granted / 2 ? Optional.of("shuffles need at least " + mib(bytes)
        + " beside what the JVM itself takes, but the container has " + mib(granted) + " beyond the Java heap ("
        + grant.get().source() + "): raise spark.executor.memoryOverhead") : Optional.empty();
    return new MemoryLimit(bytes, Math.max(bytes, granted - JVM_OWN - otherBytes),
        "auto: of the " + mib(granted) + " that the container has beyond the Java heap (" + grant.get().source() + ")",
        tight);
  }

  private static long byCores(Cores cores) {
    return Math.max(MIN_BY_CORES, PER_CORE * cores.tasks());
  }

  private static long byGrant(long granted, Cores cores) {
    return Math.min(byCores(cores), share(granted, cores));
  }

  /** What one use of memory may take of {@code granted} bytes: a sixth, but no less than tasks need to go on. */
  static long share(long granted, Cores cores) {
    return Math.max(Math.max(LEAST, LEAST_PER_TASK * cores.tasks()), granted / GRANT_SHARE);
  }

  /**
   * What a container has for other things when shuffles take their limit, and the JVM, Netty and Python as much as this
   * class leaves them.
   */
  static long leftOf(ContainerGrant grant, long shuffleBytes) {
    return Math.max(0, grant.bytes() - JVM_OWN - grant.bytes() / GRANT_SHARE - shuffleBytes);
  }

  /** The limit of shuffles in a container: the user's, or what {@code auto} is there. */
  static long inContainer(ContainerGrant grant, Cores cores, OptionalLong set) {
    return set.orElse(byGrant(grant.bytes(), cores));
  }

  private static String tooLarge(long bytes, ContainerGrant grant) {
    return "spark.sluice.memory.limit = " + mib(bytes) + " is more than the " + mib(grant.bytes())
        + " that the container has beyond the Java heap (" + grant.source() + "): the executor may be killed for it."
        + " Lower the limit or raise spark.executor.memoryOverhead";
  }

  static long offHeapBytes(SparkConf conf) {
    return conf.getBoolean("spark.memory.offHeap.enabled", false)
        ? conf.getSizeAsBytes("spark.memory.offHeap.size", "0") : 0;
  }

  /** One line for the log and {@code conf}. */
  public String describe() {
    return "shuffles of one executor use up to " + mib(bytes) + " outside the Java heap (" + reason + ")"
        + (ceilingBytes > bytes ? "; a task alone up to " + mib(ceilingBytes) + " for rows that do not fit that" : "");
  }

  static String mib(long bytes) {
    return bytes / MIB + " MiB";
  }
}
