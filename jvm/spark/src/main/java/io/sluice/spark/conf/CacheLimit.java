package io.sluice.spark.conf;

import java.util.Optional;
import java.util.OptionalLong;
import org.apache.spark.SparkConf;

/**
 * How many bytes of map outputs one executor keeps in memory: {@code spark.sluice.cache.hostLimit}, or less where its
 * container has less beside the Java heap, what the JVM needs itself, the shuffles' own memory and the blocks that
 * arrive one-sidedly.
 *
 * @param bytes 0 when there is no room: then map outputs go to files
 * @param warning that it is less than the setting, if it is
 */
public record CacheLimit(long bytes, Optional<String> warning) {

  /**
   * @param set the setting
   * @param memoryLimit {@code spark.sluice.memory.limit}; empty for {@code auto}
   * @param receivedBytes the most that blocks take which arrive one-sidedly
   */
  static CacheLimit of(SparkConf conf, ProcessGrant process, Cores cores, long set, OptionalLong memoryLimit,
      long receivedBytes) {
    Optional<ContainerGrant> grant = ContainerGrant.of(conf, process);
    boolean offHeap = conf.getBoolean("spark.memory.offHeap.enabled", false);
    long room = grant.map(granted -> MemoryLimit.leftOf(granted,
        receivedBytes + (offHeap ? 0 : MemoryLimit.inContainer(granted, cores, memoryLimit)))).orElse(Long.MAX_VALUE);
    if (set <= room) {
      return new CacheLimit(set, Optional.empty());
    }
    return new CacheLimit(room, Optional.of("spark.sluice.cache.hostLimit = " + MemoryLimit.mib(set)
        + ", but the container has only " + MemoryLimit.mib(grant.orElseThrow().bytes()) + " beyond the Java heap ("
        + grant.orElseThrow().source() + "): an executor keeps at most " + MemoryLimit.mib(room)
        + " of map outputs in memory and writes the others to files. Raise spark.executor.memoryOverhead"));
  }
}
