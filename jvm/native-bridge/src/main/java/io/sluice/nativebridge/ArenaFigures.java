package io.sluice.nativebridge;

/**
 * What an {@link Arena} holds at one moment. Where nothing else is said, blocks that were received one-sidedly are
 * included; counts are since the process started.
 *
 * @param leasedBytes bytes on lease
 * @param peakLeasedBytes the most bytes ever on lease at once, received blocks not included
 * @param receivedBytes of {@code leasedBytes}, those of received blocks
 * @param reservedBytes bytes held from the operating system
 * @param touchedBytes bytes of these that may be resident, at most
 * @param freeBytes bytes of these that are not on lease and kept for the next one
 * @param purgedBytes bytes given back to the operating system because nothing used them for a while
 * @param refusedByLimit leases refused because they would have exceeded the limit
 * @param refusedBySystem leases refused because the operating system gave no memory
 * @param scratchBytes bytes outside of the Java heap and of the arena that encoders and decoders hold
 */
public record ArenaFigures(long leasedBytes, long peakLeasedBytes, long receivedBytes, long reservedBytes,
    long touchedBytes, long freeBytes, long purgedBytes, long refusedByLimit, long refusedBySystem, long scratchBytes) {

  /**
   * @param own figures of the arena of leases
   * @param received figures of the arena of received blocks
   */
  static ArenaFigures of(ArenaStatistics own, ArenaStatistics received, long scratchBytes) {
    return new ArenaFigures(own.leasedBytes() + received.leasedBytes(), own.peakLeasedBytes(), received.leasedBytes(),
        own.reservedBytes() + received.reservedBytes(), own.touchedBytes() + received.touchedBytes(),
        own.freeBytes() + received.freeBytes(), own.purgedBytes() + received.purgedBytes(),
        own.refusedByLimit() + received.refusedByLimit(), own.refusedByProvider() + received.refusedByProvider(),
        scratchBytes);
  }
}
