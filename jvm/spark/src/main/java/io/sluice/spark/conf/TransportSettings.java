package io.sluice.spark.conf;

/**
 * The settings of how blocks travel.
 *
 * @param transport the requested transport; Sluice may still use Spark's block transfer
 * @param ucxLibrary path of {@code libucp.so.0} or of its folder; empty: the system's
 * @param timeoutMillis how long a peer may send nothing while this executor waits for it
 * @param retryDelayNanos the delay before a failed peer is connected again; doubled after each further failure
 * @param earlyStart whether other executors are connected when they announce themselves
 * @param heartbeatIntervalMillis from an executor's heartbeat to its next one
 * @param heartbeatTimeoutMillis how long an executor may send none before it is gone for the others
 * @param maxConnections the most connections to other executors at once
 * @param maxMappedBytes of map outputs that may be mapped at once
 * @param maxMappedRegions in how many mappings
 * @param allowUnauthenticatedTcp whether UCX may use TCP with {@code spark.authenticate}
 * @param receiveLimitBytes of blocks that an executor may have received one-sidedly and its tasks not yet read; unless
 *     it is set, at most a share of what its container has beyond the heap; blocks beyond it are
 *     fetched by Spark's block transfer
 */
public record TransportSettings(Transport transport, String ucxLibrary, long timeoutMillis, long retryDelayNanos,
    boolean earlyStart, long heartbeatIntervalMillis, long heartbeatTimeoutMillis, long maxConnections,
    long maxMappedBytes, long maxMappedRegions, boolean allowUnauthenticatedTcp,
    long receiveLimitBytes) {
  /** Whether anything but Spark's block transfer is asked for. */
  public boolean oneSided() {
    return transport != Transport.NETTY;
  }
}
