package io.sluice.advisor.estimate;

/**
 * The constants of the model: CPU time that Sluice saves beside Spark's own shuffle. All are for Spark 4.2 with lz4 on
 * one core of the machine of {@code bench/results} (AMD EPYC, Java 17), fitted by hand to the CPU times of stages that
 * {@code ./sluice bench} measured on both engines on 2026-11-24 (the runs behind
 * {@code bench/results/builds/workloads-against-7370d80.json}). Behind each constant are the workloads that it comes
 * from, with the saving that was measured, in nanoseconds a row.
 */
final class Costs {
  /**
   * A row of SQL written: making it bytes, partitioning, compressing. With {@link #SQL_WRITE_BYTE_NS}: {@code window}
   * 140 (17 bytes a row), {@code distinct-sql} 148 (11), {@code aggregate} 172 (18), {@code skew-join} 188 (24),
   * {@code join} 200 (38), {@code repartition} 286 (40).
   */
  static final double SQL_WRITE_ROW_NS = 95;
  /** … and for each byte that Spark writes for it, compressed. */
  static final double SQL_WRITE_BYTE_NS = 3.5;
  /**
   * More for a row of a range exchange, whose partition is searched among bounds: {@code sort} 133, {@code sort-multi}
   * 119, {@code sort-strings} 68, {@code sort-expression} 175.
   */
  static final double RANGE_ROW_NS = 115;
  /**
   * For a row of a round robin, which is sorted in its map task first, for each doubling of the task's rows:
   * {@code round-robin} 29, {@code rebalance} 33.
   */
  static final double ROUND_ROBIN_SORT_NS = 29;
  /**
   * Less for a row where Spark computes no row checksums (before 4.1, or switched off): XXH64 of about 90 bytes.
   */
  static final double ROW_CHECKSUM_NS = 20;

  /**
   * A row of SQL read: {@code distinct-sql} 64 (11 bytes a row), {@code repartition} 80 (40), {@code round-robin} 84,
   * {@code rebalance} 92 (43), {@code aggregate} 100 (18).
   */
  static final double SQL_READ_ROW_NS = 50;
  /** … and for each of its bytes, compressed. */
  static final double SQL_READ_BYTE_NS = 0.9;

  /**
   * Part of the CPU in the time that Spark's {@code SortExec} reports as {@code sort time} which Sluice's sort saves;
   * the CPU in it is taken to be as much as in all of the stage's time. {@code sort} 0.90, {@code window} 1.1, where
   * equal keys come together.
   */
  static final double SORT_TIME_PART = 0.9;
  /** For a row that goes through a sort of SQL, collecting it: {@code join}, whose sort time is next to nothing, 20. */
  static final double SORT_ROW_NS = 20;

  /**
   * A record of an RDD written: {@code terasort} 222 (55 bytes a record), {@code groupby-objects} 205 (27),
   * {@code cogroup-join} 220 and 393 (9 and 45), {@code sort-rdd} 297 (40), {@code spark-terasort} 268 (55).
   */
  static final double RDD_WRITE_RECORD_NS = 190;
  /** … and for each of its bytes, compressed: {@code groupby} 4,800 for 4,120 bytes. */
  static final double RDD_WRITE_BYTE_NS = 1.1;
  /** A record of an RDD read: {@code cogroup-join} 344 (33 bytes). */
  static final double RDD_READ_RECORD_NS = 350;
  /** … and for each of its bytes, compressed: {@code groupby} 2,800 for 4,120 bytes. */
  static final double RDD_READ_BYTE_NS = 0.6;
  /**
   * More for a record that is combined or grouped in the reduce task: {@code wordcount} 501 to 725 in all,
   * {@code distinct} 524, {@code groupby-objects} 565, {@code wordcount-text} 555.
   */
  static final double RDD_COMBINE_RECORD_NS = 200;
  /**
   * More for a record that is sorted in the reduce task: {@code terasort} 695 to 968 in all, {@code hibench-terasort}
   * 926, {@code spark-terasort} 862, {@code sort-rdd} 675 to 830.
   */
  static final double RDD_SORT_RECORD_NS = 450;
  /**
   * Part of the CPU of a stage that combines records in its map tasks, of which the log gives no number:
   * {@code aggregate-sets} 0.35, {@code wordcount-text} 0.51, {@code pagerank} 0.54 to 0.89, {@code wordcount}
   * 0.59 and 0.66, {@code distinct} 0.82, {@code nested-tuples} 0.86.
   */
  static final double MAP_COMBINE_PART = 0.65;
  /** Of these savings, what is left where a serializer of the user's has to write every record. */
  static final double OPAQUE_PART = 0.3;

  /**
   * Rows a block at which half of the saving is left, because each block has costs of its own: {@code wide}, 3 rows a
   * block, saves nothing to speak of.
   */
  static final double SMALL_BLOCK_ROWS = 8;
  /** The most of a stage's CPU that can be saved: {@code pagerank}'s first stages, {@code distinct}. */
  static final double MOST_OF_CPU = 0.85;
  /** Garbage collection saved, for each part of the CPU saved: {@code terasort}, {@code wordcount}. */
  static final double GC_PER_CPU = 1.2;

  /** Bytes that Sluice writes for each of Spark's, rows of SQL with lz4 or snappy: 0.33 to 0.47, {@code tpch} 0.40. */
  static final double SQL_BYTES = 0.42;
  /** … with zstd, which leaves less to gain: not measured. */
  static final double SQL_BYTES_ZSTD = 0.75;
  /** Records of RDDs with lz4 or snappy: 0.26 to 1.00, {@code terasort} 0.64. */
  static final double RDD_BYTES = 0.75;
  /** … with zstd: not measured. */
  static final double RDD_BYTES_ZSTD = 0.95;
  /** … with {@code spark.shuffle.compress=false}, by the encoding of columns alone: not measured. */
  static final double UNCOMPRESSED_BYTES = 0.5;

  private Costs() {}
}
