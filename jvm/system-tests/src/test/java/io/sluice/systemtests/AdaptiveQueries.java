package io.sluice.systemtests;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;

/**
 * Queries whose final plan depends on the sizes of shuffle blocks: coalescing, skew splits, join selection, local
 * reads. For each query a word is given that its plan must contain, so that a query that no longer covers the intended
 * rule fails the test.
 *
 * <p>Limits are multiples of a table's average partition with Spark's own shuffle ("stock"), halfway between two
 * decisions: Spark rounds each block's size to 10 % before it decides, so near a limit two sizes that hardly differ may
 * lead to different decisions.
 */
final class AdaptiveQueries {
  static final int PARTITIONS = 40;
  /** The {@link #mark} of a query whose final plan has no join left. */
  static final String NO_JOIN = "no join";
  private static final String ADVISORY = "spark.sql.adaptive.advisoryPartitionSizeInBytes";
  private static final String HASH_JOIN_LIMIT = "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold";
  private static final String BROADCAST_LIMIT = "spark.sql.adaptive.autoBroadcastJoinThreshold";

  /** Views that {@link #createViews} makes. */
  static final List<String> TABLES = List.of("numbers", "words", "hexadecimal", "bytes", "sparse", "big", "small");

  private final Map<String, Query> queries = new LinkedHashMap<>();
  private final Map<String, String> marks = new LinkedHashMap<>();
  private final Map<String, Long> partitionBytes;

  private AdaptiveQueries(Map<String, Long> partitionBytes) {
    this.partitionBytes = partitionBytes;
  }

  /** @param partitionBytes of each table: bytes of an average partition on stock, of {@link #PARTITIONS} by the key */
  static AdaptiveQueries all(Map<String, Long> partitionBytes) {
    AdaptiveQueries all = new AdaptiveQueries(partitionBytes);
    all.coalescing();
    all.skewJoins();
    all.hints();
    all.joinSelection();
    all.others();
    return all;
  }

  /** A quarter of the queries, with each rule of adaptive execution that decides by sizes. */
  static AdaptiveQueries ofEachRule(Map<String, Long> partitionBytes) {
    AdaptiveQueries each = some(partitionBytes);
    each.joinSelection();
    return each;
  }

  /** A tenth of the queries, for other compression codecs, with which the plans hardly change. */
  static AdaptiveQueries some(Map<String, Long> partitionBytes) {
    AdaptiveQueries some = new AdaptiveQueries(partitionBytes);
    some.coalescingOf("numbers", 4.5);
    some.coalescingOf("words", 2.5);
    some.coalescingOf("bytes", 7.5);
    some.skewJoin("INNER", "big", "small", 5);
    some.add("rebalance by key", "skewed", "SELECT /*+ REBALANCE(k) */ * FROM big",
        ADVISORY, some.partitions("big", 1.5));
    return some;
  }

  /** Bytes of {@code count} average partitions of {@code table}. */
  private String partitions(String table, double count) {
    return Long.toString((long) (count * partitionBytes.get(table)));
  }

  List<Query> queries() {
    return new ArrayList<>(queries.values());
  }

  /** The word that the plan of {@code query} must contain. */
  String mark(Query query) {
    return marks.get(query.name());
  }

  static void createViews(SparkSession spark) {
    view(spark, "numbers", "id % 365 AS d", "CAST(xxhash64(id, 3) AS DOUBLE) / 1e9 AS x", "3 * id AS y");
    view(spark, "words", "concat_ws(' ', id % 977, 'furiously final', id % 31, 'deposits sleep') AS text");
    view(spark, "hexadecimal", "sha2(CAST(id AS STRING), 256) AS text");
    view(spark, "bytes", "unhex(sha2(CAST(id AS STRING), 512)) AS b");
    view(spark, "sparse", "IF(id % 3 = 0, NULL, id) AS a", "IF(id % 50 = 0, sha2(CAST(id AS STRING), 256), NULL) AS t");
    spark.range(0, 100_000, 1, 4)
        .selectExpr("id", "IF(id % 5 = 0, pmod(xxhash64(id), 97), 7L) AS k", "sha2(CAST(id AS STRING), 256) AS text")
        .createOrReplaceTempView("big");
    spark.range(0, 4_000, 1, 4).selectExpr("IF(id % 40 = 0, 7L, id % 97) AS k", "id * 2 AS twice",
        "sha2(CAST(id AS STRING), 256) AS other").where("id % 40 <> 0 OR id = 40").createOrReplaceTempView("small");
    spark.range(0, 300, 1, 2).selectExpr("id % 97 AS k", "id AS n").createOrReplaceTempView("tiny");
  }

  private static void view(SparkSession spark, String name, String... columns) {
    List<String> all = new ArrayList<>(List.of("id", "pmod(xxhash64(id), 5000) AS k"));
    all.addAll(List.of(columns));
    spark.range(0, 100_000, 1, 4).selectExpr(all.toArray(String[]::new)).createOrReplaceTempView(name);
  }

  private void add(String name, String mark, String sql, String... settings) {
    Query query = Query.of(name, spark -> spark.sql(sql)).with("spark.sql.adaptive.enabled", "true")
        .with("spark.sql.shuffle.partitions", Integer.toString(PARTITIONS))
        .with("spark.sql.adaptive.coalescePartitions.minPartitionSize", "1k")
        .with("spark.sql.adaptive.coalescePartitions.parallelismFirst", "false");
    for (int i = 0; i < settings.length; i += 2) {
      query = query.with(settings[i], settings[i + 1]);
    }
    if (queries.put(name, query) != null) {
      throw new IllegalStateException("two queries are called " + name);
    }
    marks.put(name, mark);
  }

  private void coalescing() {
    for (String table : List.of("numbers", "words", "hexadecimal", "bytes", "sparse")) {
      coalescingOf(table, 2.5);
      coalescingOf(table, 6.5);
    }
    coalescingOf("words", 9.5);
  }

  private void coalescingOf(String table, double partitions) {
    add("coalesced " + table + " by " + partitions, "AQEShuffleRead coalesced",
        "SELECT k, count(*), max(struct(*)) FROM (SELECT /*+ REPARTITION(k) */ * FROM " + table + ") GROUP BY k",
        ADVISORY, partitions(table, partitions));
  }

  private void skewJoins() {
    skewJoin("INNER", "big", "small", 5);
    skewJoin("LEFT OUTER", "big", "small", 5);
    skewJoin("LEFT SEMI", "big", "small", 6.5);
    skewJoin("LEFT ANTI", "big", "small", 6.5);
    skewJoin("RIGHT OUTER", "small", "big", 5);
    skewJoin("INNER", "small", "big", 5);
    add("full outer join is not split", "SortMergeJoin", "SELECT * FROM big FULL OUTER JOIN small USING (k)",
        skewSettings(5));
    add("skewed shuffled hash join", "skewed", "SELECT /*+ SHUFFLE_HASH(small) */ * FROM big JOIN small USING (k)",
        skewSettings(5));
    add("skew join below an aggregate, whose keys must stay together", "SortMergeJoin",
        "SELECT k, count(*), max(other) FROM big JOIN small USING (k) GROUP BY k", skewSettings(5));
  }

  /**
   * Spark 3.3 computes the columns of a semi or anti join's left side after the join, so that it has no large blocks.
   */
  private void skewJoin(String type, String left, String right, double advisory) {
    boolean smallBlocks = Tables.isSpark33() && (type.endsWith("SEMI") || type.endsWith("ANTI"));
    add("skewed " + type + " join of " + left + " and " + right, smallBlocks ? "SortMergeJoin" : "skewed",
        "SELECT * FROM " + left + " " + type + " JOIN " + right + " USING (k)", skewSettings(advisory));
  }

  /** The large partition of {@code big} has 32 times the average, in four equal map outputs. */
  private String[] skewSettings(double advisory) {
    return new String[] {"spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", partitions("big", 10),
      "spark.sql.adaptive.skewJoin.skewedPartitionFactor", "3", ADVISORY, partitions("big", advisory)};
  }

  private void hints() {
    add("rebalance", "AQEShuffleRead", "SELECT /*+ REBALANCE */ * FROM big", ADVISORY, partitions("big", 4.5));
    add("rebalance by key", "skewed", "SELECT /*+ REBALANCE(k) */ * FROM big", ADVISORY, partitions("big", 1.5));
    add("rebalance by key to larger", "skewed", "SELECT /*+ REBALANCE(k) */ * FROM big",
        ADVISORY, partitions("big", 12));
    add("rebalance to 7 by key", "skewed", "SELECT /*+ REBALANCE(7, k) */ * FROM big",
        ADVISORY, partitions("big", 3));
    add("repartition to 8", "Exchange", "SELECT /*+ REPARTITION(8) */ * FROM words", ADVISORY, partitions("words", 5));
    add("repartition by key", "coalesced", "SELECT /*+ REPARTITION(k) */ * FROM words",
        ADVISORY, partitions("words", 3.5));
    add("repartition by range", "coalesced", "SELECT /*+ REPARTITION_BY_RANGE(id) */ * FROM hexadecimal",
        ADVISORY, partitions("hexadecimal", 9.5));
    add("coalesce", "Coalesce", "SELECT /*+ COALESCE(3) */ k, count(*) FROM words GROUP BY k",
        ADVISORY, partitions("words", 1));
  }

  private void joinSelection() {
    String join = "SELECT * FROM hexadecimal h JOIN (SELECT /*+ REPARTITION(k) */ k, text AS other FROM words"
        + " WHERE id % 20 = 0) w ON h.k = w.k";
    add("shuffled hash join by size", "ShuffledHashJoin", join,
        HASH_JOIN_LIMIT, partitions("hexadecimal", 8), ADVISORY, partitions("hexadecimal", 4));
    add("no shuffled hash join of what is too large", "SortMergeJoin", join,
        HASH_JOIN_LIMIT, "100", ADVISORY, partitions("hexadecimal", 4.5));
    String aggregated = "SELECT * FROM hexadecimal h JOIN"
        + " (SELECT k, count(*) AS n FROM words WHERE id % 97 = 0 GROUP BY k) w ON h.k = w.k";
    add("broadcast by size, read locally", "local", aggregated, BROADCAST_LIMIT, "300k");
    add("no broadcast of what is too large", "SortMergeJoin", aggregated,
        BROADCAST_LIMIT, "1k", ADVISORY, partitions("hexadecimal", 4.5));
    add("empty relation", NO_JOIN,
        "SELECT * FROM words w JOIN (SELECT k, count(*) FROM bytes WHERE id < 0 GROUP BY k) b ON w.k = b.k");
    add("anti join with an empty side", NO_JOIN, "SELECT * FROM words w LEFT ANTI JOIN"
        + " (SELECT k FROM bytes WHERE id < 0 GROUP BY k) b ON w.k = b.k");
  }

  private void others() {
    add("union of two shuffles", "Union", "SELECT k, count(*) FROM words GROUP BY k UNION ALL"
        + " SELECT k, count(*) FROM bytes GROUP BY k", ADVISORY, "10m");
    add("union joined", "Union", "SELECT * FROM (SELECT k, text FROM words UNION ALL"
        + " SELECT k, text FROM hexadecimal) u JOIN tiny USING (k)", ADVISORY, partitions("hexadecimal", 60));
    add("window", "Window", "SELECT k, id, row_number() OVER (PARTITION BY k ORDER BY id) FROM words",
        ADVISORY, partitions("words", 60));
    add("window of text", "Window", "SELECT k, max(text) OVER (PARTITION BY k) FROM hexadecimal",
        ADVISORY, partitions("hexadecimal", 3.5));
    add("global order", "Sort", "SELECT * FROM hexadecimal ORDER BY text", ADVISORY, partitions("hexadecimal", 60));
    add("distinct", "coalesced", "SELECT DISTINCT k, id % 100 FROM numbers", ADVISORY, "20m");
    add("rollup", "Expand", "SELECT k, d, count(*) FROM numbers GROUP BY ROLLUP (k, d)", ADVISORY, "20m");
    add("exchange reuse", "ReusedExchange", "WITH c AS (SELECT k, count(*) AS n FROM words GROUP BY k)"
        + " SELECT a.k, b.n FROM c a JOIN c b ON a.n = b.n AND a.k = b.k + 1", ADVISORY, "20m");
    add("three joins", "SortMergeJoin", "SELECT w.k, count(*) FROM words w JOIN numbers n ON w.id = n.id"
        + " JOIN sparse s ON s.id = w.id JOIN tiny t ON t.k = w.k GROUP BY w.k", ADVISORY, "20m");
    add("count of distinct text", "coalesced", "SELECT k, count(DISTINCT text) FROM words GROUP BY k",
        ADVISORY, "20m");
  }
}
