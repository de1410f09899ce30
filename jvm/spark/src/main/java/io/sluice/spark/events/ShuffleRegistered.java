package io.sluice.spark.events;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;

/** The driver decided who writes and reads a shuffle. */
public final class ShuffleRegistered extends SluiceEvent {
  /** {@link #path}: Sluice, whose rows are Spark SQL's. */
  public static final String SQL_ROWS = "SQL_ROWS";
  /** {@link #path}: Sluice, whose rows are made of an RDD's records. */
  public static final String RDD_RECORDS = "RDD_RECORDS";
  /** {@link #path}: Spark's own sort shuffle; {@link #reason} says why. */
  public static final String SPARK = "SPARK";
  /**
   * {@link #path}: Spark's own writers, in Spark's format, and {@link #reason} says why; executors read the blocks
   * one-sidedly where they can, as with {@code spark.sluice.mode=RDMA}.
   */
  public static final String SPARK_ONE_SIDED = "SPARK_ONE_SIDED";
  /** {@link #sqlExecution} of a shuffle that no SQL execution began. */
  public static final long NO_EXECUTION = -1;

  private static final int MOST_TEXT_BYTES = 200;
  private static final int MOST_NAME_BYTES = 50;

  private final int shuffleId;
  private final String path;
  private final String reason;
  private final String reasonText;
  private final int partitions;
  private final long sqlExecution;
  private final Integer rddId;

  @JsonCreator
  ShuffleRegistered(@JsonProperty("version") int version, @JsonProperty("shuffleId") int shuffleId,
      @JsonProperty("path") String path, @JsonProperty("reason") String reason,
      @JsonProperty("reasonText") String reasonText,
      @JsonProperty("partitions") int partitions, @JsonProperty("sqlExecution") long sqlExecution,
      @JsonProperty("rddId") Integer rddId) {
    super(version);
    this.shuffleId = shuffleId;
    this.path = path;
    this.reason = reason;
    this.reasonText = reasonText;
    this.partitions = partitions;
    this.sqlExecution = sqlExecution;
    this.rddId = rddId;
  }

  /**
   * An event of this version of Sluice.
   *
   * @param path one of the constants above
   * @param reason the name of the reason for which the shuffle is Spark's; null if it is Sluice's
   * @param reasonText completes the sentence "the shuffle falls back because …"; null likewise
   */
  public static ShuffleRegistered of(
      int shuffleId, String path, String reason, String reasonText, int partitions, long sqlExecution) {
    return new ShuffleRegistered(VERSION, shuffleId, path, Texts.atMost(MOST_NAME_BYTES, reason),
        Texts.atMost(MOST_TEXT_BYTES, reasonText),
        partitions, sqlExecution, null);
  }

  /** The same, with the number of the RDD whose records are written. */
  public ShuffleRegistered of(int rdd) {
    return new ShuffleRegistered(version(), shuffleId, path, reason, reasonText, partitions, sqlExecution, rdd);
  }

  /** The number of the shuffle. */
  public int shuffleId() {
    return shuffleId;
  }

  /**
   * {@link #SQL_ROWS} or {@link #RDD_RECORDS}: Sluice writes and reads it; {@link #SPARK}: Spark does; {@link
   * #SPARK_ONE_SIDED}: Spark writes it, and executors read it one-sidedly where they can. Later versions may have
   * others.
   */
  public String path() {
    return path;
  }

  /** The name of the reason for which the shuffle is Spark's; null if it is Sluice's. */
  public String reason() {
    return reason;
  }

  /** The reason in words. */
  public String reasonText() {
    return reasonText;
  }

  /** Reduce partitions. */
  public int partitions() {
    return partitions;
  }

  /** The number of the RDD whose records are written; null in logs of older versions of Sluice. */
  public Integer rddId() {
    return rddId;
  }

  /** The SQL execution that registered it, or {@link #NO_EXECUTION}. */
  public long sqlExecution() {
    return sqlExecution;
  }
}
