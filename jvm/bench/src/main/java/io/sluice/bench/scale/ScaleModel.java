package io.sluice.bench.scale;

import java.util.EnumMap;
import java.util.Map;

/**
 * Seconds of a shuffle on a cluster of equal hosts over which its tasks, rows and blocks are spread evenly.
 *
 * <p>Left out, for all engines: what else a job does, stragglers and failures, congestion inside the network, waits for
 * the first answer of a host (at most a few milliseconds a task), and what fits no memory and is sorted in several
 * passes.
 */
public final class ScaleModel {

  /** Spark's {@code spark.shuffle.minNumPartitionsToHighlyCompress}: above it a status has no size of each block. */
  private static final double SIZES_UP_TO = 2_000;
  /** A status then: its host, the mean size, and a bitmap of the empty blocks, two bytes each or a bit of every one. */
  private static final double STATUS = 64;
  private static final double EMPTY_BLOCK = 2;
  private static final double BITS = 8;

  private ScaleModel() {}

  public static Prediction predict(EngineCosts costs, HostKind host, double hosts, Shuffle shuffle) {
    double blocks = shuffle.blocks();
    double bytes = shuffle.rows() * costs.rowBytes() + blocks * costs.blockBytes();
    double remote = (hosts - 1) / hosts;
    double cores = hosts * host.cores();
    double uncached = bytes == 0 ? 0 : Math.max(0, 1 - host.cacheBytes() * hosts / bytes);

    Map<Resource, Double> map = new EnumMap<>(Resource.class);
    map.put(Resource.PROCESSORS,
        (shuffle.rows() * costs.mapRow() + blocks * costs.mapBlock() + shuffle.maps() * costs.task()) / cores);
    map.put(Resource.DISK_BYTES, bytes / hosts * uncached / host.diskBytesPerS());
    map.put(Resource.DRIVER, shuffle.maps() * costs.driverTask());

    Map<Resource, Double> reduce = new EnumMap<>(Resource.class);
    reduce.put(Resource.PROCESSORS, (shuffle.rows() * costs.reduceRow() + blocks * costs.reduceBlock()
        + shuffle.partitions() * costs.task()
        + remote * (bytes * costs.remoteByte() + blocks * costs.remoteBlock())) / cores);
    reduce.put(Resource.NETWORK, bytes / hosts * remote / host.networkBytesPerS());
    reduce.put(Resource.DISK_BYTES, bytes / hosts * uncached / host.diskBytesPerS());
    reduce.put(Resource.DISK_READS, blocks / hosts * uncached / host.diskReadsPerS());
    reduce.put(Resource.DRIVER, shuffle.partitions() * costs.driverTask());

    double statuses = shuffle.maps() * statusBytes(costs, shuffle);
    return new Prediction(map, reduce, hosts == 1 ? 0 : statuses / host.networkBytesPerS(), statuses, bytes / blocks);
  }

  /** Of one map task, as every host gets it. */
  private static double statusBytes(EngineCosts costs, Shuffle shuffle) {
    return shuffle.partitions() <= SIZES_UP_TO ? shuffle.partitions() * costs.statusBytesOfABlock()
        : STATUS + Math.min(shuffle.partitions() / BITS, shuffle.emptyBlocksOfAMap() * EMPTY_BLOCK);
  }
}
