package io.sluice.spark.ui;

import io.sluice.spark.metrics.Counter;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Sentences about what executors lack, and what they did otherwise than their settings ask for. */
final class ExecutorDiagnosis {
  /** Of executors with the same trouble so many are named. */
  private static final int NAMED = 5;
  private static final long MIN_NANOS = 1_000_000_000L;
  private static final String DOCTOR = "'java -jar sluice.jar doctor'";
  /** How the labels of the counters of blocks begin that were not read one-sidedly; the reason follows. */
  static final String LEFT_TO_SPARK = "blocks left to Spark's block transfer ";
  /** Reasons for which blocks were not read one-sidedly. */
  static final List<Counter> LEFT = Stream.of(Counter.values())
      .filter(counter -> counter.label().startsWith(LEFT_TO_SPARK)).collect(Collectors.toList());

  private final List<ExecutorRow> executors;
  private final List<String> sentences = new ArrayList<>();

  ExecutorDiagnosis(List<ExecutorRow> executors) {
    this.executors = executors;
  }

  List<String> sentences() {
    withoutNativeLibrary();
    unavailable(Counter.TRANSPORT_UNAVAILABLE, "One-sided reads are not possible",
        "UCX or the native library cannot be used there, and Spark's block transfer brings the blocks");
    unavailable(Counter.TRANSPORT_WITHOUT_RDMA, "RDMA is not used",
        "UCX uses no RDMA device there, and blocks of other hosts are read over TCP");
    unavailable(Counter.CACHE_UNAVAILABLE, "Map outputs cannot be kept in memory", "they are files there");
    unavailable(Counter.GPU_UNAVAILABLE, "Map output cannot be encoded on a GPU", "the CPU encodes it there");
    unavailable(Counter.GPU_LOST, "The GPU has failed and is not used any more", "the CPU encodes map output there");
    leftToSparksTransfer();
    failedPeers();
    happened(Counter.TRANSPORT_PUBLISH_FAILURES, "Map outputs that could not be published for one-sided reads",
        "Spark's block transfer brings their blocks.");
    happened(Counter.CACHE_REFUSALS, "Map outputs that were written to the disk at once, because memory had no room",
        "More of it is spark.sluice.cache.hostLimit.");
    happened(Counter.CACHE_MOVE_FAILURES, "Failed moves of a map output from memory to the disk",
        "No local directory could take it.");
    happened(Counter.CACHE_RETURN_FAILURES, "Map outputs that could not be brought back from the disk to memory",
        "They are read from the disk.");
    memoryWaits();
    return sentences;
  }

  private void withoutNativeLibrary() {
    executors.stream().filter(row -> !row.nativeCore()).limit(NAMED).forEach(
        row -> sentences.add("Executor " + row.executorId() + " on " + row.host() + " reads and writes in Java, which "
            + "is slower and makes larger files: " + row.detail() + ". Run " + DOCTOR
            + " on that host: it says what to change."));
  }

  private void unavailable(Counter counter, String what, String consequence) {
    List<ExecutorRow> without = with(row -> row.of(counter) > 0);
    if (!without.isEmpty()) {
      String names = without.stream().limit(NAMED).map(row -> row.executorId() + " on " + row.host())
          .collect(Collectors.joining(", "));
      String where = without.size() == 1 ? "executor " + names
          : Amounts.count(without.size()) + " executors (" + names + (without.size() > NAMED ? ", …)" : ")");
      sentences.add(what + " on " + where + ": " + consequence + ". The log of an executor says why, and " + DOCTOR
          + " on its host says what to change.");
    }
  }

  /** Of all blocks that were to be read one-sidedly. */
  private void leftToSparksTransfer() {
    long left = LEFT.stream().mapToLong(this::sum).sum();
    if (left == 0) {
      return;
    }
    String reasons = LEFT.stream().filter(counter -> sum(counter) > 0)
        .sorted((one, other) -> Long.compare(sum(other), sum(one)))
        .map(counter -> Amounts.count(sum(counter)) + " " + counter.label().substring(LEFT_TO_SPARK.length()))
        .collect(Collectors.joining("; "));
    sentences.add(Amounts.percent(left, left + sum(Counter.TRANSPORT_BLOCKS)) + " of the blocks that were to be read "
        + "one-sidedly were left to Spark's block transfer: " + reasons
        + (left == sum(Counter.TRANSPORT_NETTY_UNKNOWN_PEER)
            ? ". Executors announce themselves within their first seconds." : "."));
  }

  private void failedPeers() {
    with(row -> row.failedPeers() > 0).stream()
        .sorted((one, other) -> Integer.compare(other.failedPeers(), one.failedPeers())).limit(NAMED)
        .forEach(row -> sentences.add("When executor " + row.executorId() + " last reported, it could not read "
            + Amounts.count(row.failedPeers()) + " of " + Amounts.count(row.announcedPeers())
            + (row.announcedPeers() == 1 ? " other executor" : " other executors") + " one-sidedly: "
            + String.join(", ", row.failedPeerIds())
            + (row.failedPeerIds().size() < row.failedPeers() ? ", …" : "")
            + ". Spark's block transfer brings their blocks until they are tried again."));
    if (with(row -> row.failedPeers() > 0).isEmpty()) {
      happened(Counter.TRANSPORT_PEER_FAILURES, "Times that an executor could not be read one-sidedly",
          "It was tried again after spark.sluice.transport.retryDelay.");
    }
  }

  private void happened(Counter counter, String what, String more) {
    long times = sum(counter);
    if (times > 0) {
      sentences.add(what + ": " + Amounts.count(times) + ". " + more);
    }
  }

  private void memoryWaits() {
    long nanos = sum(Counter.MEMORY_WAIT_NANOS);
    if (nanos >= MIN_NANOS) {
      sentences.add("Tasks waited " + Amounts.nanos(nanos) + " in " + Amounts.count(sum(Counter.MEMORY_WAITS))
          + " waits for block memory that other tasks held; more of it is spark.sluice.memory.limit.");
    }
  }

  private List<ExecutorRow> with(Predicate<ExecutorRow> trouble) {
    return executors.stream().filter(trouble).collect(Collectors.toList());
  }

  private long sum(Counter counter) {
    return executors.stream().mapToLong(row -> row.of(counter)).sum();
  }
}
