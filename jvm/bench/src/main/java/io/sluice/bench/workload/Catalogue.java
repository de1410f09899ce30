package io.sluice.bench.workload;

import io.sluice.bench.tpch.TpchQueries;
import java.util.List;
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

  /** On the command line: every query of TPC-H. */
  public static final String TPCH = "tpch";

  /** Rows of the generated table for queries, and bytes of one as {@link BenchTable} has them. */
  private static final long TABLE_ROWS = 10_000_000;
  private static final int TABLE_ROW_BYTES = 87;

  // Lambdas and not constructor references, which would load the classes and Spark's with them.
  private static final List<Entry> GENERATING = List.of(
      table("generate", "the table alone, no shuffle: the floor", () -> new Generate()),
      table("repartition", "the table by hash of k, 200 partitions", () -> new Repartition()),
      table("sort", "the table in total order by k, then id", () -> new GlobalSort()),
      table("join", "the table with itself on id, never broadcast", () -> new SelfJoin()),
      table("aggregate", "group by k, 1M distinct keys", () -> new Aggregate()),
      new Entry("terasort-df", "TeraSort records as a DataFrame, sorted by key", () -> new TeraSortFrame(),
          10_000_000, TeraRecord.RECORD_BYTES),
      new Entry("terasort", "TeraSort records as an RDD, sorted by key", () -> new TeraSort(),
          10_000_000, TeraRecord.RECORD_BYTES),
      new Entry("sort-rdd", "lines of text, sortByKey", () -> new SortRdd(), 3_000_000, 66),
      new Entry("groupby", "random keys with 4,096-byte values, groupByKey", () -> new GroupBy(),
          131_072, Integer.BYTES + GroupBy.VALUE_BYTES),
      new Entry("pagerank", "pages of a power-law graph, 3 rounds", () -> new PageRank(),
          200_000, 9 * 2 * Long.BYTES),
      new Entry("wordcount", "words by Zipf's law, reduceByKey", () -> new WordCount(), 20_000_000, 5),
      new Entry("distinct", "longs that repeat, distinct", () -> new Distinct(), 5_000_000, Long.BYTES),
      new Entry("cogroup-join", "visits with their users, join of pair RDDs", () -> new CogroupJoin(),
          3_000_000, 70));

  /**
   * One workload.
   *
   * @param name on the command line
   * @param what what it does, in a few words
   * @param make makes an instance; needs Spark on the class path
   * @param defaultRows its rows (records, words, pages) unless the user gives another number: what keeps Spark's
   *     own shuffle busy for about 10 to 30 seconds on two cores
   * @param rowBytes about how many bytes of input a row is, for throughputs
   */
  public record Entry(String name, String what, Supplier<Workload> make, long defaultRows, int rowBytes) {

    /** Whether it is a query of TPC-H, which reads tables that were made before. */
    public boolean readsTables() {
      return isTpch(name);
    }
  }

  private Catalogue() {}

  private static Entry table(String name, String what, Supplier<Workload> make) {
    return new Entry(name, what, make, TABLE_ROWS, TABLE_ROW_BYTES);
  }

  /** All entries but the queries of TPC-H, in the order in which they are listed to users. */
  public static List<Entry> entries() {
    return GENERATING;
  }

  /** Whether a workload of this name is a query of TPC-H. */
  public static boolean isTpch(String name) {
    return name.startsWith(TPCH + "-");
  }

  /** What the user's {@code name} means: one entry, or those of a group. */
  public static List<Entry> named(String name) {
    return switch (name) {
      case ALL -> GENERATING;
      case TPCH -> TpchQueries.ENTRIES;
      default -> List.of(find(name));
    };
  }

  /**
   * The entry called {@code name}.
   *
   * @throws IllegalArgumentException naming the known workloads if there is none
   */
  public static Entry find(String name) {
    return Stream.concat(GENERATING.stream(), TpchQueries.ENTRIES.stream())
        .filter(entry -> entry.name().equals(name)).findFirst()
        .orElseThrow(() -> new IllegalArgumentException("unknown workload '" + name + "'; known are "
            + GENERATING.stream().map(Entry::name).collect(Collectors.joining(", "))
            + ", tpch, tpch-q1 to tpch-q22"));
  }

  /** A new instance of the workload called {@code name}; needs Spark on the class path. */
  public static Workload create(String name) {
    return find(name).make().get();
  }
}
