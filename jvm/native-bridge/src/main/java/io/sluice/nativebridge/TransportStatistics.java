package io.sluice.nativebridge;

import java.util.List;

/**
 * Statistics of a {@link NativeTransport}: counts since its start and current values; they are not all read at
 * the same moment. A refused block is one that a peer has asked for, that may be here, and that the peer reads by
 * Spark's block transfer.
 *
 * @param mappedRegions parts of files that are mapped or about to be
 * @param mappedBytes their bytes
 * @param peakMappedBytes the most bytes that were mapped at once
 * @param pinnedRegions those of them that a reader may be reading, or that are being mapped
 * @param pinnedBytes their bytes
 * @param openQuestions questions of readers that were not answered, or whose answers are in use
 * @param diskJobs jobs that wait for a disk
 * @param getsInFlight reads of other processes' blocks under way
 * @param queuedCommands commands and greetings that the agent has not taken up yet, or puts off to a later turn
 * @param queuedCompletions blocks that have ended and that no caller has taken
 * @param longestTurnNanos the longest turn of the agent since its start, in nanoseconds
 * @param malformedMessages messages that could not be understood
 * @param unprovenMessages messages without the proof or tag that they need
 * @param refusedMapped blocks refused because the limits of mapped memory are reached, or it cannot be registered
 * @param refusedQuestions blocks refused because their reader had too many questions open
 * @param refusedDisk blocks refused because too much was to be read from disks
 * @param diskTimeouts blocks refused because a disk has not answered in time
 * @param failedRegistrations parts of files that could not be registered in any way, not even as copies
 * @param copiedRegions parts of files that were registered as copies in memory, because a device could not register
 * them shared
 * @param copiedBytes bytes of those that are mapped now
 * @param copiedFilesystems file systems whose files are registered as copies
 * @param refusedFilesystems file systems whose files cannot be registered now
 * @param connections connections that are open
 * @param connectionsOpened connections that were opened
 * @param connectionsClosedIdle those of them that were closed because nothing passed over them, or to make room for
 * others
 * @param connectionsLostIdle those of them that were lost while nothing, or only a question of a moment ago, was
 * under way
 * @param connectionsRefused times that there was no room for another one
 * @param receiveWaits times that a connection's blocks had to wait for memory to be received into
 * @param receiveWaitNanos how long they have waited, all together, in nanoseconds, those that wait now included
 * @param receiveGivenUp blocks that were left to Netty because there was no memory for them in time
 * @param devicesReadable connections over which a sample in the memory of the other side's GPU came as it was
 * @param devicesUnreadable those over which it did not, or could not be read
 * @param toldBytes bytes that are kept of what owners have told: keys of their memory, and where blocks are
 * @param toldTooMuch connections that were ended because their owners told of more than may be kept
 * @param publishedOutputs map outputs that are published now
 */
public record TransportStatistics(
    long mappedRegions,
    long mappedBytes,
    long peakMappedBytes,
    long pinnedRegions,
    long pinnedBytes,
    long openQuestions,
    long diskJobs,
    long getsInFlight,
    long queuedCommands,
    long queuedCompletions,
    long longestTurnNanos,
    long malformedMessages,
    long unprovenMessages,
    long refusedMapped,
    long refusedQuestions,
    long refusedDisk,
    long diskTimeouts,
    long failedRegistrations,
    long copiedRegions,
    long copiedBytes,
    long copiedFilesystems,
    long refusedFilesystems,
    long connections,
    long connectionsOpened,
    long connectionsClosedIdle,
    long connectionsLostIdle,
    long connectionsRefused,
    long receiveWaits,
    long receiveWaitNanos,
    long receiveGivenUp,
    long devicesReadable,
    long devicesUnreadable,
    long toldBytes,
    long toldTooMuch,
    long publishedOutputs) {

  /** The names of the components, in their order: the native library must have the same. */
  static final List<String> NAMES = List.of(
      "mappedRegions", "mappedBytes", "peakMappedBytes", "pinnedRegions", "pinnedBytes", "openQuestions",
      "diskJobs", "getsInFlight", "queuedCommands", "queuedCompletions", "longestTurnNanos", "malformedMessages",
      "unprovenMessages", "refusedMapped", "refusedQuestions", "refusedDisk", "diskTimeouts", "failedRegistrations",
      "copiedRegions", "copiedBytes", "copiedFilesystems", "refusedFilesystems",
      "connections", "connectionsOpened", "connectionsClosedIdle", "connectionsLostIdle", "connectionsRefused",
      "receiveWaits", "receiveWaitNanos", "receiveGivenUp", "devicesReadable", "devicesUnreadable",
      "toldBytes", "toldTooMuch", "publishedOutputs");

  static TransportStatistics of(long[] numbers) {
    int i = 0;
    return new TransportStatistics(
        numbers[i++], numbers[i++], numbers[i++], numbers[i++], numbers[i++],
        numbers[i++], numbers[i++], numbers[i++], numbers[i++], numbers[i++],
        numbers[i++], numbers[i++], numbers[i++], numbers[i++], numbers[i++],
        numbers[i++], numbers[i++], numbers[i++], numbers[i++], numbers[i++],
        numbers[i++], numbers[i++], numbers[i++], numbers[i++], numbers[i++],
        numbers[i++], numbers[i++], numbers[i++], numbers[i++], numbers[i++],
        numbers[i++], numbers[i++], numbers[i++], numbers[i++], numbers[i]);
  }

  /**
   * Compares this layout with the native library's.
   *
   * @return null, or how they differ
   */
  static String layoutError(String nativeNames) {
    String names = String.join(",", NAMES);
    return names.equals(nativeNames) ? null
        : "its transport has the statistics " + nativeNames + ", this jar expects " + names;
  }
}
