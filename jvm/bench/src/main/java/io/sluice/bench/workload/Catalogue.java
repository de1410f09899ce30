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

  private static final List<Entry> ENTRIES = List.of(
      new Entry("generate", "the table alone, no shuffle: the floor", Generate.class),
      new Entry("repartition", "the table by hash of k, 200 partitions", Repartition.class),
      new Entry("sort", "the table in total order by k, then id", GlobalSort.class),
      new Entry("join", "the table with itself on id, never broadcast", SelfJoin.class),
      new Entry("aggregate", "group by k, 1M distinct keys", Aggregate.class),
      new Entry("terasort-df", "100-byte TeraSort records as a DataFrame, sorted by key", TeraSortFrame.class));

  /** A workload's name, what it does in a few words, and its class. */
  public record Entry(String name, String what, Class<? extends Workload> type) {}

  private Catalogue() {}

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
