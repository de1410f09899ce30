package io.sluice.systemtests;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;

/**
 * Queries whose final plan depends on the sizes of shuffle blocks: what is coalesced, split, joined how, read locally. Each with a
 * word that its plan must have, so that it tests what it says.
 */
final class AdaptiveQueries {
  private static final String ADVISORY = "spark.sql.adaptive.advisoryPartitionSizeInBytes";
  private static final String HASH_JOIN_LIMIT = "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold";
  private static final String BROADCAST_LIMIT = "spark.sql.adaptive.autoBroadcastJoinThreshold";

  /** What rows are like beside their key: names of views that {@link #createViews} makes. */
  private static final List<String> TABLES = List.of("numbers", "words", "hexadecimal", "bytes", "sparse");

  private final Map<String, Query> queries = new LinkedHashMap<>();
  private final Map<String, String> marks = new LinkedHashMap<>();

  private AdaptiveQueries() {}

  static AdaptiveQueries all() {
    AdaptiveQueries all = new AdaptiveQueries();
    all.coalescing();
    all.skewJoins();
    all.hints();
    all.joinSelection();
    all.others();
    return all;
  }

  /** A tenth of them, for what differs little: other codecs. */
  static AdaptiveQueries some() {
    AdaptiveQueries some = new AdaptiveQueries();
    some.coalescingOf("numbers", "200k");
    some.coalescingOf("words", "100k");
    some.coalescingOf("bytes", "300k");
    some.skewJoin("INNER", "big", "small");
    some.add("rebalance by key", "skewed", "SELECT /*+ REBALANCE(k) */ * FROM big", ADVISORY, "150k");
    return some;
  }

  List<Query> queries() {
    return new ArrayList<>(queries.values());
  }

  /** What the plan of {@code query} must have. */
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
        .with("spark.sql.shuffle.partitions", "40").with("spark.sql.adaptive.coalescePartitions.minPartitionSize", "1k")
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
    for (String table : TABLES) {
      coalescingOf(table, "100k");
      coalescingOf(table, "300k");
    }
    coalescingOf("words", "2m");
  }

  private void coalescingOf(String table, String advisory) {
    add("coalesced " + table + " to " + advisory, "AQEShuffleRead coalesced",
        "SELECT k, count(*), max(struct(*)) FROM (SELECT /*+ REPARTITION(k) */ * FROM " + table + ") GROUP BY k",
        ADVISORY, advisory);
  }

  private void skewJoins() {
    skewJoin("INNER", "big", "small");
    skewJoin("LEFT OUTER", "big", "small");
    skewJoin("LEFT SEMI", "big", "small");
    skewJoin("LEFT ANTI", "big", "small");
    skewJoin("RIGHT OUTER", "small", "big");
    skewJoin("INNER", "small", "big");
    add("full outer join is not split", "SortMergeJoin", "SELECT * FROM big FULL OUTER JOIN small USING (k)",
        skewSettings());
    add("skewed shuffled hash join", "skewed", "SELECT /*+ SHUFFLE_HASH(small) */ * FROM big JOIN small USING (k)",
        skewSettings());
    add("skew join below an aggregate", "SortMergeJoin",
        "SELECT k, count(*), max(other) FROM big JOIN small USING (k) GROUP BY k", skewSettings());
  }

  private void skewJoin(String type, String left, String right) {
    add("skewed " + type + " join of " + left + " and " + right, "skewed",
        "SELECT * FROM " + left + " " + type + " JOIN " + right + " USING (k)", skewSettings());
  }

  private static String[] skewSettings() {
    return new String[] {"spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", "400k",
      "spark.sql.adaptive.skewJoin.skewedPartitionFactor", "3", ADVISORY, "250k"};
  }

  private void hints() {
    add("rebalance", "AQEShuffleRead", "SELECT /*+ REBALANCE */ * FROM big", ADVISORY, "250k");
    add("rebalance by key", "skewed", "SELECT /*+ REBALANCE(k) */ * FROM big", ADVISORY, "150k");
    add("rebalance by key to larger", "skewed", "SELECT /*+ REBALANCE(k) */ * FROM big", ADVISORY, "700k");
    add("rebalance to 7 by key", "skewed", "SELECT /*+ REBALANCE(7, k) */ * FROM big", ADVISORY, "200k");
    add("repartition to 8", "Exchange", "SELECT /*+ REPARTITION(8) */ * FROM words", ADVISORY, "100k");
    add("repartition by key", "coalesced", "SELECT /*+ REPARTITION(k) */ * FROM words", ADVISORY, "100k");
    add("repartition by range", "coalesced", "SELECT /*+ REPARTITION_BY_RANGE(id) */ * FROM hexadecimal",
        ADVISORY, "500k");
    add("coalesce", "Coalesce", "SELECT /*+ COALESCE(3) */ k, count(*) FROM words GROUP BY k", ADVISORY, "50k");
  }

  private void joinSelection() {
    String join = "SELECT * FROM hexadecimal h JOIN (SELECT /*+ REPARTITION(k) */ k, text AS other FROM words"
        + " WHERE id % 20 = 0) w ON h.k = w.k";
    add("shuffled hash join by size", "ShuffledHashJoin", join, HASH_JOIN_LIMIT, "200k", ADVISORY, "1m");
    add("no shuffled hash join of what is too large", "SortMergeJoin", join, HASH_JOIN_LIMIT, "1k", ADVISORY, "1m");
    add("broadcast by size, read locally", "local",
        "SELECT * FROM hexadecimal h JOIN (SELECT k, count(*) AS n FROM words WHERE id % 97 = 0 GROUP BY k) w ON h.k = w.k",
        BROADCAST_LIMIT, "300k");
    add("no broadcast of what is too large", "SortMergeJoin",
        "SELECT * FROM hexadecimal h JOIN (SELECT k, count(*) AS n FROM words WHERE id % 97 = 0 GROUP BY k) w ON h.k = w.k",
        BROADCAST_LIMIT, "1k");
    add("empty relation", "", "SELECT * FROM words w JOIN (SELECT k, count(*) FROM bytes WHERE id < 0 GROUP BY k) b ON w.k = b.k");
    add("anti join with an empty side", "", "SELECT * FROM words w LEFT ANTI JOIN"
        + " (SELECT k FROM bytes WHERE id < 0 GROUP BY k) b ON w.k = b.k");
  }

  private void others() {
    add("union of two shuffles", "Union", "SELECT k, count(*) FROM words GROUP BY k UNION ALL"
        + " SELECT k, count(*) FROM bytes GROUP BY k", ADVISORY, "30k");
    add("union joined", "Union", "SELECT * FROM (SELECT k, text FROM words UNION ALL SELECT k, text FROM hexadecimal) u"
        + " JOIN tiny USING (k)", ADVISORY, "200k");
    add("window", "Window", "SELECT k, id, row_number() OVER (PARTITION BY k ORDER BY id) FROM words", ADVISORY, "150k");
    add("window of text", "Window", "SELECT k, max(text) OVER (PARTITION BY k) FROM hexadecimal", ADVISORY, "600k");
    add("global order", "Sort", "SELECT * FROM hexadecimal ORDER BY text", ADVISORY, "400k");
    add("distinct", "coalesced", "SELECT DISTINCT k, id % 100 FROM numbers", ADVISORY, "60k");
    add("rollup", "Expand", "SELECT k, d, count(*) FROM numbers GROUP BY ROLLUP (k, d)", ADVISORY, "200k");
    add("exchange reuse", "ReusedExchange", "WITH c AS (SELECT k, count(*) AS n FROM words GROUP BY k)"
        + " SELECT a.k, b.n FROM c a JOIN c b ON a.n = b.n AND a.k = b.k + 1", ADVISORY, "30k");
    add("three joins", "SortMergeJoin", "SELECT w.k, count(*) FROM words w JOIN numbers n ON w.id = n.id"
        + " JOIN sparse s ON s.id = w.id JOIN tiny t ON t.k = w.k GROUP BY w.k", ADVISORY, "300k");
    add("count of distinct text", "coalesced", "SELECT k, count(DISTINCT text) FROM words GROUP BY k", ADVISORY, "100k");
  }
}
