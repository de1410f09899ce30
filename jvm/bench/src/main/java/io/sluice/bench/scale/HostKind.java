package io.sluice.bench.scale;

/**
 * What every host of a cluster has for the executors on it.
 *
 * @param cores that tasks run on
 * @param networkBytesPerS of its link, each way
 * @param diskBytesPerS of its local disks, reading or writing
 * @param diskReadsPerS reads of a few kilobytes at random places that they do
 * @param cacheBytes memory in which the kernel keeps map outputs, which then are not read from disk
 */
public record HostKind(String name, double cores, double networkBytesPerS, double diskBytesPerS, double diskReadsPerS,
    double cacheBytes) {

  /** One whose disks are never the limit. */
  public static HostKind withoutDisks(String name, double cores, double networkBytesPerS) {
    return new HostKind(name, cores, networkBytesPerS, Double.POSITIVE_INFINITY, Double.POSITIVE_INFINITY,
        Double.POSITIVE_INFINITY);
  }
}
