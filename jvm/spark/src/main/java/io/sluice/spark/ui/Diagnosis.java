package io.sluice.spark.ui;

import io.sluice.spark.events.ShuffleRegistered;
import io.sluice.spark.metrics.ColumnBytes;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.policy.FallbackReason;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Predicate;

/** Sentences made from counters: what keeps Sluice from doing more, the most costly first within each kind. */
final class Diagnosis {
  /** Of each kind, the worst so many are named. */
  private static final long NANOS_OF_A_BLOCK = 5_000_000;
  private static final int EACH_KIND = 5;
  /** Shuffles below this size are not worth a sentence. */
  private static final long MIN_BYTES = 1 << 20;
  private static final long MIN_NANOS = 1_000_000_000L;
  /** A block that has more than this share of Spark's bytes counts as no smaller. */
  private static final double NO_SMALLER = 0.9;
  /** A column with more than this share of the bytes is worth a sentence. */
  private static final double MOST_OF_THEM = 0.5;
  /** An executor with more than this share of the time is, if it gave half as large a share of the blocks. */
  private static final double LARGE_SHARE = 0.3;
  private static final double TIMES_ITS_PART = 2;
  /** More rows of batches than this part of the others must not be made one by one. */
  private static final double MOST_PROJECTED = 0.1;

  private final ApplicationRow application;
  private final List<ShuffleRow> shuffles;
  private final List<ExecutorRow> executors;
  private final List<String> sentences = new ArrayList<>();

  Diagnosis(ApplicationRow application, List<ShuffleRow> shuffles, List<ExecutorRow> executors) {
    this.application = application;
    this.shuffles = shuffles;
    this.executors = executors;
  }

  List<String> sentences() {
    fallbacks();
    planNodes();
    sentences.addAll(new ExecutorDiagnosis(executors).sentences());
    each(Counter.WRITE_STOCK_BYTES, row -> row.of(Counter.WRITE_STOCK_BYTES) > MIN_BYTES
        && row.of(Counter.WRITE_BLOCK_BYTES) > NO_SMALLER * row.of(Counter.WRITE_STOCK_BYTES), Diagnosis::noSmaller);
    each(Counter.WRITE_SPILLED_BYTES, row -> row.of(Counter.WRITE_SPILLED_BYTES) > 0, Diagnosis::spilled);
    each(Counter.READ_FETCH_WAIT_NANOS,
        row -> row.of(Counter.READ_FETCH_WAIT_NANOS) > Math.max(MIN_NANOS, workWhileReading(row)), Diagnosis::waited);
    each(Counter.COMBINED_BY_SPARK, row -> row.of(Counter.COMBINED_BY_SPARK) > 0, Diagnosis::combined);
    each(Counter.READ_RUNS_REFUTED, row -> row.of(Counter.READ_RUNS_REFUTED) > 0, Diagnosis::refuted);
    each(Counter.WRITE_PARTITIONS_REFUTED, row -> row.of(Counter.WRITE_PARTITIONS_REFUTED) > 0,
        row -> "In " + Amounts.count(row.of(Counter.WRITE_PARTITIONS_REFUTED)) + " map tasks of shuffle "
            + row.shuffleId()
            + " Spark's expressions gave other partitions than Sluice found; Spark's were used. Please "
            + "report this.");
    each(Counter.WRITE_ROWS_PROJECTED, row -> row.of(Counter.WRITE_ROWS_PROJECTED) > MOST_PROJECTED
        * row.of(Counter.WRITE_ROWS_OF_BATCHES), Diagnosis::projected);
    each(Counter.WRITE_BLOCK_BYTES, row -> row.of(Counter.WRITE_BLOCK_BYTES) > MIN_BYTES && largeColumn(row) != null,
        Diagnosis::oneColumn);
    slowPeers();
    return sentences;
  }

  /** What waits are held against: decoding, or, where Spark decodes, some milliseconds a block. */
  private static long workWhileReading(ShuffleRow row) {
    return row.isWrittenBySpark() ? row.of(Counter.READ_REMOTE_BLOCKS) * NANOS_OF_A_BLOCK
        : row.of(Counter.READ_DECODE_NANOS);
  }

  private void fallbacks() {
    application.shufflesByReason().forEach((reason, count) -> {
      Optional<ShuffleRow> remembered =
          shuffles.stream().filter(row -> reason.equals(row.reasonText())).findFirst();
      Optional<FallbackReason> known = known(remembered, reason);
      // Within an application all shuffles with a reason have the same path.
      boolean oneSided = remembered.map(row -> ShuffleRegistered.SPARK_ONE_SIDED.equals(row.path())).orElseGet(
          () -> known.filter(each -> each != FallbackReason.DISABLED).isPresent()
              && application.shuffles(ShuffleRegistered.SPARK_ONE_SIDED) > 0);
      if (oneSided && known.filter(each -> each == FallbackReason.CODEC_SPARK).isPresent()) {
        // As the mode asks for: nothing went another way.
        return;
      }
      String advice = known.map(each -> ". " + each.remedy() + ".").orElse(".");
      String shuffles = count == 1 ? "1 shuffle" : Amounts.count(count) + " shuffles";
      sentences.add(shuffles + (oneSided ? " kept Spark's format, to be read one-sidedly, because "
          : " went Spark's way because ") + reason + advice);
    });
  }

  /** The reason of a shuffle, if one is remembered, or else with these words; empty for one of another version. */
  private static Optional<FallbackReason> known(Optional<ShuffleRow> shuffle, String words) {
    return shuffle.isPresent() ? FallbackReason.named(shuffle.get().reason())
        : Arrays.stream(FallbackReason.values()).filter(each -> each.text().equals(words)).findFirst();
  }

  private void planNodes() {
    largest(application.sortsLeft(), (reason, count) -> (count == 1 ? "1 sort in a SQL plan stays"
        : Amounts.count(count) + " sorts in SQL plans stay") + " Spark's because " + reason + ".");
    largest(application.exchangesLeft(), (reason, count) -> "Spark's function finds the partitions of "
        + (count == 1 ? "1 exchange in a SQL plan" : Amounts.count(count) + " exchanges in SQL plans") + " because "
        + reason + ".");
  }

  private void largest(Map<String, Long> counts, BiFunction<String, Long, String> sentence) {
    counts.entrySet().stream().sorted(Map.Entry.<String, Long>comparingByValue().reversed()).limit(EACH_KIND)
        .forEach(each -> sentences.add(sentence.apply(each.getKey(), each.getValue())));
  }

  private void each(Counter worst, Predicate<ShuffleRow> wanted, Function<ShuffleRow, String> sentence) {
    shuffles.stream().filter(wanted)
        .sorted(Comparator.comparingLong((ShuffleRow row) -> row.of(worst)).reversed()).limit(EACH_KIND)
        .forEach(row -> sentences.add(sentence.apply(row)));
  }

  private static String noSmaller(ShuffleRow row) {
    return "The blocks of shuffle " + row.shuffleId() + " are hardly smaller than Spark's would be: "
        + Amounts.bytes(row.of(Counter.WRITE_BLOCK_BYTES)) + " against about "
        + Amounts.bytes(row.of(Counter.WRITE_STOCK_BYTES)) + ".";
  }

  private static String projected(ShuffleRow row) {
    long projected = row.of(Counter.WRITE_ROWS_PROJECTED);
    return Amounts.count(projected) + " of " + Amounts.count(projected + row.of(Counter.WRITE_ROWS_OF_BATCHES))
        + " rows of shuffle " + row.shuffleId() + " that lay in batches of columns were made one by one, most often "
        + "because the block memory had no room for copies; more of it is spark.sluice.memory.limit, and with "
        + "spark.sluice.columnar=false Spark makes rows faster.";
  }

  /** The field that has most of the bytes and did not become smaller; null if there is none. */
  private static ColumnBytes largeColumn(ShuffleRow row) {
    long whole = row.columns().stream().mapToLong(ColumnBytes::encodedBytes).sum();
    return row.columns().stream().filter(column -> column.field() != ColumnBytes.REST && row.columns().size() > 1
        && column.encodedBytes() > MOST_OF_THEM * whole && column.encodedBytes() > NO_SMALLER * column.rowBytes())
        .findFirst().orElse(null);
  }

  private static String oneColumn(ShuffleRow row) {
    ColumnBytes column = largeColumn(row);
    long whole = row.columns().stream().mapToLong(ColumnBytes::encodedBytes).sum();
    return Amounts.percent(column.encodedBytes(), whole) + " of shuffle " + row.shuffleId() + " is one column, "
        + Drawing.name(column) + ", that hardly gets smaller: "
        + Amounts.bytes(column.encodedBytes()) + " in blocks of " + Amounts.bytes(column.rowBytes())
        + " in rows, in " + Amounts.count(row.sampledFrames())
        + (row.sampledFrames() == 1 ? " frame that was looked at." : " frames that were looked at.");
  }

  /** Executors that have much more of the time in which blocks were under way than of the blocks. */
  private void slowPeers() {
    int named = 0;
    for (FetchTimes.Peer peer : FetchTimes.of(executors).peers()) {
      long nanos = peer.blocks().totalNanos();
      long allNanos = peer.ofReaders().totalNanos();
      long blocks = peer.blocks().blocks();
      long allBlocks = peer.ofReaders().blocks();
      boolean slow = nanos >= MIN_NANOS && nanos > LARGE_SHARE * allNanos
          && (double) nanos / allNanos > TIMES_ITS_PART * blocks / allBlocks;
      if (slow && named < EACH_KIND) {
        named++;
        sentences.add(Amounts.percent(nanos, allNanos) + " of the time in which blocks were under way is executor "
            + peer.executorId() + "'s, which gave " + Amounts.percent(blocks, allBlocks)
            + " of the blocks (95 % within "
            + Amounts.nanos(peer.blocks().percentile(FetchTimes.SLOW)) + "), to the "
            + (peer.readers() == 1 ? "executor" : Amounts.count(peer.readers()) + " executors")
            + " that it was among the slowest for.");
      }
    }
  }

  private static String spilled(ShuffleRow row) {
    return "Shuffle " + row.shuffleId() + " spilled " + Amounts.bytes(row.of(Counter.WRITE_SPILLED_BYTES)) + " in "
        + Amounts.count(row.of(Counter.WRITE_SPILLS))
        + " spills, because its executors' block memory was full; more of "
        + "it is spark.sluice.memory.limit.";
  }

  private static String waited(ShuffleRow row) {
    return "Readers of shuffle " + row.shuffleId() + " waited " + Amounts.nanos(row.of(Counter.READ_FETCH_WAIT_NANOS))
        + " for blocks of other executors" + (row.isWrittenBySpark() ? "."
            : " and decoded for " + Amounts.nanos(row.of(Counter.READ_DECODE_NANOS)) + ".");
  }

  private static String combined(ShuffleRow row) {
    long tasks = row.of(Counter.COMBINED_BY_SPARK);
    return (tasks == 1 ? "A task" : Amounts.count(tasks) + " tasks") + " of shuffle " + row.shuffleId()
        + " moved records that were being combined to Spark's map, which can spill: memory was short, or a key came "
        + "that its bytes cannot stand for.";
  }

  private static String refuted(ShuffleRow row) {
    return "The order of shuffle " + row.shuffleId() + "'s keys was guessed wrongly in "
        + Amounts.count(row.of(Counter.READ_RUNS_REFUTED)) + " runs, which were sorted as objects; "
        + "spark.sluice.records.guessOrder=false avoids the guess.";
  }
}
