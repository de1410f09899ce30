package io.sluice.bench.workload;

import java.util.List;
import java.util.stream.Collectors;

/**
 * Every workload by its name on the command line.
 *
 * <p>Loading this class loads no Spark class, so the command line can name and check workloads before any
 * Spark line has been chosen; only the driver instantiates them.
 */
public final class Catalogue {

  /** Rows of the generated table for queries, and bytes of one as {@link BenchTable} has them. */
  private static final long TABLE_ROWS = 10_000_000;
  private static final int TABLE_ROW_BYTES = 87;

  private static final List<Entry> ENTRIES = List.of(
      table("generate", "the table alone, no shuffle: the floor", Generate.class),
      table("repartition", "the table by hash of k, 200 partitions", Repartition.class),
      table("sort", "the table in total order by k, then id", GlobalSort.class),
      table("join", "the table with itself on id, never broadcast", SelfJoin.class),
      table("aggregate", "group by k, 1M distinct keys", Aggregate.class),
      new Entry("terasort-df", "TeraSort records as a DataFrame, sorted by key", TeraSortFrame.class,
          10_000_000, TeraRecord.RECORD_BYTES),
      new Entry("terasort", "TeraSort records as an RDD, sorted by key", TeraSort.class,
          10_000_000, TeraRecord.RECORD_BYTES),
      new Entry("sort-rdd", "lines of text, sortByKey", SortRdd.class, 3_000_000, 58),
      new Entry("groupby", "random keys with 4,096-byte values, groupByKey", GroupBy.class,
          131_072, Integer.BYTES + GroupBy.VALUE_BYTES),
      new Entry("pagerank", "pages of a power-law graph, 3 rounds", PageRank.class, 400_000, 9 * 2 * Long.BYTES),
      new Entry("wordcount", "words by Zipf's law, reduceByKey", WordCount.class, 20_000_000, 5),
      new Entry("distinct", "longs that repeat, distinct", Distinct.class, 5_000_000, Long.BYTES),
      new Entry("cogroup-join", "visits with their users, join of pair RDDs", CogroupJoin.class, 3_000_000, 70));

  /**
   * One workload.
   *
   * @param name on the command line
   * @param what what it does, in a few words
   * @param type its class
   * @param defaultRows its rows (records, words, pages) unless the user gives another number: what keeps Spark's
   *     own shuffle busy for about 10 to 30 seconds on two cores
   * @param rowBytes about how many bytes of input a row is, for throughputs
   */
  public record Entry(String name, String what, Class<? extends Workload> type, long defaultRows, int rowBytes) {}

  private Catalogue() {}

  private static Entry table(String name, String what, Class<? extends Workload> type) {
    return new Entry(name, what, type, TABLE_ROWS, TABLE_ROW_BYTES);
  }

  /** All entries, in the order in which they are listed to users. */
  public static List<Entry> entries() {
    return ENTRIES;
  }

  /**
   * The entry called {@code name}.
   *
   * @throws IllegalArgumentException naming the known workloads if there is none
   */
  public static Entry find(String name) {
    return ENTRIES.stream().filter(entry -> entry.name().equals(name)).findFirst()
        .orElseThrow(() -> new IllegalArgumentException("unknown workload '" + name + "'; known are "
            + ENTRIES.stream().map(Entry::name).collect(Collectors.joining(", "))));
  }

  /** A new instance of the workload called {@code name}; needs Spark on the class path. */
  public static Workload create(String name) {
    try {
      return find(name).type().getConstructor().newInstance();
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("workload " + name + " cannot be instantiated", e);
    }
  }
}
