package io.sluice.bench.catalogue;

import io.sluice.bench.catalogue.Entry.Start;
import io.sluice.bench.soak.SoakProgram;
import io.sluice.bench.soak.SoakWorkload;
import io.sluice.bench.tables.Benchmark;
import io.sluice.bench.tpcds.TpcdsQuery;
import io.sluice.bench.tpch.LineItems;
import io.sluice.bench.tpch.QueryText;
import io.sluice.bench.tpch.TpchQuery;
import io.sluice.bench.workload.Aggregate;
import io.sluice.bench.workload.AggregateSets;
import io.sluice.bench.workload.CogroupJoin;
import io.sluice.bench.workload.ColdQuery;
import io.sluice.bench.workload.CollectList;
import io.sluice.bench.workload.Distinct;
import io.sluice.bench.workload.DistinctRows;
import io.sluice.bench.workload.Generate;
import io.sluice.bench.workload.GlobalSort;
import io.sluice.bench.workload.GroupBy;
import io.sluice.bench.workload.GroupObjects;
import io.sluice.bench.workload.HiBenchTeraSort;
import io.sluice.bench.workload.ManyBlocks;
import io.sluice.bench.workload.ManyShuffles;
import io.sluice.bench.workload.NestedTuples;
import io.sluice.bench.workload.PageRank;
import io.sluice.bench.workload.Ranking;
import io.sluice.bench.workload.Rebalance;
import io.sluice.bench.workload.RemoteReads;
import io.sluice.bench.workload.Repartition;
import io.sluice.bench.workload.RoundRobin;
import io.sluice.bench.workload.SelfJoin;
import io.sluice.bench.workload.SkewJoin;
import io.sluice.bench.workload.SmallJobs;
import io.sluice.bench.workload.SortByExpression;
import io.sluice.bench.workload.SortByFive;
import io.sluice.bench.workload.SortLongs;
import io.sluice.bench.workload.SortPairs;
import io.sluice.bench.workload.SortRdd;
import io.sluice.bench.workload.SortStrings;
import io.sluice.bench.workload.SparkTeraSort;
import io.sluice.bench.workload.TeraRecord;
import io.sluice.bench.workload.TeraSort;
import io.sluice.bench.workload.TeraSortFrame;
import io.sluice.bench.workload.WideRows;
import io.sluice.bench.workload.WordCount;
import io.sluice.bench.workload.WordCountText;
import io.sluice.bench.workload.Workload;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Every workload by its name on the command line.
 *
 * <p>Loading this class loads no Spark class, so the command line can name and check workloads before any
 * Spark line has been chosen; only the driver instantiates them.
 */
public final class Catalogue {

  /** On the command line: every workload that generates its input. */
  public static final String ALL = "all";

  /** Rows of the generated table for queries, and bytes of one as {@code BenchTable} has them. */
  private static final long TABLE_ROWS = 10_000_000;
  private static final int TABLE_ROW_BYTES = 87;

  /**
   * The required speed relative to stock: Sluice must not be slower. Single queries of benchmarks are short, and their
   * times vary by a few percent, so they may be 5 % slower.
   */
  private static final double FLOOR = 1.0;
  private static final double QUERY_FLOOR = 0.95;

  // Lambdas and not constructor references, which would load the classes and Spark's with them.
  private static final List<Entry> GENERATING = List.of(
      new Entry("generate", "the table alone, no shuffle: the floor", () -> new Generate(),
          TABLE_ROWS, TABLE_ROW_BYTES, Start.WARM, 0),
      table("repartition", "the table by hash of k, 200 partitions", () -> new Repartition()),
      table("sort", "the table in total order by k, then id", () -> new GlobalSort()),
      table("join", "the table with itself on id, never broadcast", () -> new SelfJoin()),
      table("aggregate", "group by k, 1M distinct keys", () -> new Aggregate()),
      warm("terasort-df", "TeraSort records as a DataFrame, sorted by key", () -> new TeraSortFrame(),
          10_000_000, TeraRecord.RECORD_BYTES),
      warm("terasort", "TeraSort records as an RDD, sorted by key", () -> new TeraSort(),
          10_000_000, TeraRecord.RECORD_BYTES),
      warm("sort-rdd", "lines of text, sortByKey", () -> new SortRdd(), 3_000_000, 66),
      warm("groupby", "random keys with 4,096-byte values, groupByKey", () -> new GroupBy(),
          131_072, Integer.BYTES + GroupBy.VALUE_BYTES),
      warm("pagerank", "pages of a power-law graph, 3 rounds", () -> new PageRank(),
          200_000, 9 * 2 * Long.BYTES),
      warm("wordcount", "words by Zipf's law, reduceByKey", () -> new WordCount(), 20_000_000, 5),
      warm("distinct", "longs that repeat, distinct", () -> new Distinct(), 5_000_000, Long.BYTES),
      warm("cogroup-join", "visits with their users, join of pair RDDs", () -> new CogroupJoin(),
          3_000_000, 70),
      warm("hibench-terasort", "TeraSort records, sortByKey in an order of the job's own", () -> new HiBenchTeraSort(),
          5_000_000, TeraRecord.RECORD_BYTES),
      warm("spark-terasort", "the same with a partitioner of its own too", () -> new SparkTeraSort(),
          5_000_000, TeraRecord.RECORD_BYTES),
      warm("groupby-objects", "objects of an own class, groupByKey", () -> new GroupObjects(), 2_000_000, 60),
      warm("aggregate-sets", "words after words, aggregateByKey to sets", () -> new AggregateSets(), 3_000_000, 10),
      warm("wordcount-text", "wordcount with Hadoop's Text as the key", () -> new WordCountText(), 10_000_000, 5),
      warm("nested-tuples", "reduceByKey of nested tuples", () -> new NestedTuples(), 3_000_000, 30),
      warm("sort-pairs", "words with times, sortByKey of the pair", () -> new SortPairs(), 3_000_000, 30),
      table("round-robin", "the table to 200 partitions in turn", () -> new RoundRobin()),
      table("rebalance", "the table through the REBALANCE hint", () -> new Rebalance()),
      warm("rebalance-narrow", "five columns of the table, likewise",
          () -> new Rebalance("id", "k", "d", "x", "name"), TABLE_ROWS, 64),
      table("window", "rank and running sum in 1,000 groups", () -> new Ranking()),
      table("distinct-sql", "SELECT DISTINCT of two columns", () -> new DistinctRows()),
      table("skew-join", "a quarter of the rows has one key", () -> new SkewJoin()),
      table("collect-list", "sorted ids of 100,000 groups", () -> new CollectList()),
      table("sort-strings", "the table in order of one string", () -> new SortStrings()),
      table("sort-multi", "the table in order of five columns", () -> new SortByFive()),
      table("sort-expression", "the table in order of an expression", () -> new SortByExpression()),
      warm("small", "jobs of ten rows, one after the other", () -> new SmallJobs(), 1_000L * SmallJobs.ROWS, 16),
      warm("wide", "500 columns to 2,000 partitions", () -> new WideRows(), 50_000, WideRows.COLUMNS * Long.BYTES),
      new Entry("remote-read", "blocks of other executors, read and dropped", () -> new RemoteReads(),
          262_144, GroupBy.VALUE_BYTES, Start.WARM, 0),
      new Entry("cold-query", "first query of a new application: group, sort", () -> new ColdQuery(),
          1_000_000, TABLE_ROW_BYTES, Start.FRESH, FLOOR));

  /**
   * What Spark's operators of an executor may have, storage included: 48 MiB of a heap of 4096 MiB; and a quarter of
   * what Sluice's shuffles have by default. A task of eight sorts about 190 MiB.
   */
  private static final Map<String, String> LITTLE_MEMORY =
      Map.of("spark.memory.fraction", "0.0126", "spark.sluice.memory.limit", "64m");

  /** Executors of the default master, and what of their heap Spark divides by {@code spark.memory.fraction}. */
  private static final int EXECUTORS = 2;
  private static final long DIVIDED_MIB = 4096 - 300;
  /** Sluice's shuffles need as much, and the greatest part that is not unusual. */
  private static final long LEAST_MIB = 16;
  private static final double MOST = 0.6;
  private static final long MIB = 1024 * 1024;
  private static final int SPILLING_PARTITIONS = 8;

  /** Workloads with a quarter of the memory that they need, or less. */
  private static final List<Entry> SPILLING = List.of(
      spilling("sort", 8), spilling("join", 8), spilling("aggregate", 8), spilling("terasort", 8),
      spilling("sort-rdd", 4), spilling("groupby", 2), spilling("hibench-terasort", 4), spilling("aggregate-sets", 4),
      spilling("cogroup-join", 4), spilling("window", 8), spilling("sort-strings", 8));

  /** Numbers of partitions between which the cost of a row is compared. */
  private static final int[] PARTITIONS = {10, 200, 2_000, 10_000};

  /**
   * Workloads that measure how costs grow, by the name of their group. They take long, so that only their own names and
   * their groups' mean them.
   */
  private static final Map<String, List<Entry>> GROUPS = Map.of(
      "exchange", List.of(
          lineItems(Benchmark.SCAN, "lineitem of TPC-H read: the floor of the next", 0),
          lineItems(Benchmark.EXCHANGE, "lineitem by hash of its order, 200 partitions", FLOOR)),
      "partitions", toPartitions("repartition", "terasort"),
      "driver", List.of(
          warm("many-blocks", "a shuffle of as many blocks as rows, for the driver", () -> new ManyBlocks(),
              1_000_000, Long.BYTES),
          warm("many-shuffles", "as many shuffles as rows, for the driver", () -> new ManyShuffles(),
              10_000, 2 * Long.BYTES)),
      "spilling", List.of(
          inATenth("spill-narrow", "two columns of the table, sorted in a tenth of their size",
              () -> new GlobalSort("id", "k"), 3 * Long.BYTES),
          inATenth("spill-wide", "the table, likewise", () -> new GlobalSort(), TABLE_ROW_BYTES),
          inATenth("spill-narrow-rdd", "pairs of longs of an RDD, likewise", () -> new SortLongs(), 2 * Long.BYTES),
          inATenth("spill-wide-rdd", "TeraSort records of an RDD, likewise", () -> new TeraSort(),
              TeraRecord.RECORD_BYTES)));

  private static final List<Entry> ENTRIES = Stream.of(GENERATING, SPILLING).flatMap(List::stream).toList();

  /** {@code tpch-q1} and the others of every benchmark; rows are those of all tables at scale 1. */
  private static final Map<Benchmark, List<Entry>> QUERIES = Arrays.stream(Benchmark.values()).collect(
      Collectors.toMap(benchmark -> benchmark, Catalogue::queries));

  private Catalogue() {}

  private static Entry table(String name, String what, Supplier<Workload> make) {
    return warm(name, what, make, TABLE_ROWS, TABLE_ROW_BYTES);
  }

  private static Entry warm(String name, String what, Supplier<Workload> make, long rows, int rowBytes) {
    return new Entry(name, what, make, rows, rowBytes, Start.WARM, FLOOR);
  }

  private static Entry inATenth(String name, String what, Supplier<Workload> make, int rowBytes) {
    return warm(name, what, make, TABLE_ROWS, rowBytes).with(SPILLING_PARTITIONS, rows -> tenth(rows, rowBytes));
  }

  /**
   * A tenth of the size of {@code rows}, divided among the executors: for Spark's operators, and as much outside the
   * heap for Sluice's shuffles.
   */
  private static Map<String, String> tenth(long rows, int rowBytes) {
    long mib = Math.max(LEAST_MIB, rows * rowBytes / 10 / EXECUTORS / MIB);
    return Map.of("spark.memory.fraction",
        String.format(Locale.ROOT, "%.4f", Math.min(MOST, (double) mib / DIVIDED_MIB)),
        "spark.sluice.memory.limit", mib + "m");
  }

  private static Entry lineItems(String name, String what, double floor) {
    return new Entry(Benchmark.TPCH.label() + "-" + name, what, () -> new LineItems(name), Benchmark.TPCH.rows(1),
        Benchmark.TPCH.rowBytes(), Start.WARM, floor);
  }

  private static Entry spilling(String name, int partitions) {
    return generating(name).variant(name + "-spilling", "the same, " + partitions + " partitions, 48 MiB for operators",
        partitions, LITTLE_MEMORY);
  }

  private static List<Entry> toPartitions(String... names) {
    return Arrays.stream(names).flatMap(name -> Arrays.stream(PARTITIONS).mapToObj(partitions -> generating(name)
        .variant(name + "-to-" + partitions, "the same, " + partitions + " partitions", partitions, Map.of())))
        .toList();
  }

  private static Entry generating(String name) {
    return GENERATING.stream().filter(known -> known.name().equals(name)).findFirst().orElseThrow();
  }

  private static List<Entry> queries(Benchmark benchmark) {
    return benchmark.queries().stream().map(query -> new Entry(benchmark.label() + "-" + query, title(benchmark, query),
        () -> workload(benchmark, query), benchmark.rows(1), benchmark.rowBytes(), Start.WARM, QUERY_FLOOR)).toList();
  }

  private static String title(Benchmark benchmark, String query) {
    return switch (benchmark) {
      case TPCH -> QueryText.title(numberOf(query));
      case TPCDS -> "query " + query.substring(1) + " of TPC-DS";
    };
  }

  private static Workload workload(Benchmark benchmark, String query) {
    return switch (benchmark) {
      case TPCH -> new TpchQuery(numberOf(query));
      case TPCDS -> new TpcdsQuery(query);
    };
  }

  private static int numberOf(String query) {
    return Integer.parseInt(query.substring(1));
  }

  /**
   * All entries but the queries of benchmarks and those of {@link #groups}, in the order in which they are listed to
   * users.
   */
  public static List<Entry> entries() {
    return ENTRIES;
  }

  /** Workloads that measure how costs grow, by the name of their group, which means all of them. */
  public static Map<String, List<Entry>> groups() {
    return GROUPS;
  }

  /** What the user's {@code name} means: one entry, or those of a group. */
  public static List<Entry> named(String name) {
    if (name.equals(ALL)) {
      return ENTRIES;
    }
    if (GROUPS.containsKey(name)) {
      return GROUPS.get(name);
    }
    return Arrays.stream(Benchmark.values()).filter(benchmark -> benchmark.label().equals(name)).findFirst()
        .map(QUERIES::get).orElseGet(() -> List.of(find(name)));
  }

  /** Whether there is a workload of this name; results of other versions may have others. */
  public static boolean isKnown(String name) {
    return all().anyMatch(entry -> entry.name().equals(name));
  }

  private static Stream<Entry> all() {
    return Stream.of(List.of(ENTRIES), GROUPS.values(), QUERIES.values()).flatMap(Collection::stream)
        .flatMap(List::stream);
  }

  /**
   * The entry called {@code name}.
   *
   * @throws IllegalArgumentException naming the known workloads if there is none
   */
  public static Entry find(String name) {
    return all().filter(entry -> entry.name().equals(name)).findFirst()
        .orElseThrow(() -> new IllegalArgumentException("unknown workload '" + name + "'; known are "
            + ENTRIES.stream().map(Entry::name).collect(Collectors.joining(", "))
            + GROUPS.keySet().stream().sorted().map(group -> ", " + group).collect(Collectors.joining())
            + ", tpch, tpch-q1 to tpch-q22, tpcds, tpcds-q1 to tpcds-q99"));
  }

  /** A new instance of the workload called {@code name}, or of a random program; needs Spark on the class path. */
  public static Workload create(String name) {
    return SoakProgram.isNamed(name) ? new SoakWorkload(SoakProgram.named(name)) : find(name).make().get();
  }
}
