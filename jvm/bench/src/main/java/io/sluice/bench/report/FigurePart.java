package io.sluice.bench.report;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** One part of the published figures: which command measures it, and which file below {@code bench/results} has it. */
public enum FigurePart {

  SQL("sql.json", 18, "queries of a DataFrame",
      "bench repartition join sort aggregate terasort-df --warmups 3 --runs 5"),
  SQL_MORE("sql-more.json", 16, "more queries: windows, skew, hints, strings, lists",
      "bench round-robin rebalance window distinct-sql skew-join collect-list sort-strings sort-multi "
          + "sort-expression --warmups 3 --runs 5"),
  RDD("rdd.json", 22, "jobs of RDDs",
      "bench terasort distinct wordcount pagerank cogroup-join sort-rdd groupby --warmups 3 --runs 5"),
  RDD_MORE("rdd-more.json", 14, "jobs of RDDs with orders, partitioners and classes of their own",
      "bench hibench-terasort spark-terasort groupby-objects aggregate-sets wordcount-text nested-tuples sort-pairs "
          + "--warmups 3 --runs 5"),
  OVERHEAD("overhead.json", 9, "jobs that are mostly overhead: a thousand of ten rows, and 2,000 partitions",
      "bench small wide --warmups 3 --runs 7"),
  COLD("cold.json", 6, "the first query of new applications", "bench cold-query --runs 9"),
  TPCH("tpch.json", 35, "the 22 queries of TPC-H at scale 2",
      "bench tpch --scale 2 --warmups 1 --runs 5 --rerun-below"),
  TPCDS("tpcds.json", 130, "the 99 queries of TPC-DS at scale 2",
      "bench tpcds --scale 2 --warmups 1 --runs 3 --rerun-below"),
  SPARK_35("spark-3.5/workloads.json", 55, "the workloads on Spark 3.5.8",
      "bench repartition join sort aggregate terasort-df round-robin rebalance window distinct-sql skew-join "
          + "collect-list sort-strings sort-multi sort-expression terasort distinct wordcount pagerank cogroup-join "
          + "sort-rdd groupby hibench-terasort spark-terasort groupby-objects aggregate-sets wordcount-text "
          + "nested-tuples sort-pairs small wide cold-query --spark 3.5.8 --warmups 2 --runs 3"),
  TPCH_SPARK_35("spark-3.5/tpch.json", 25, "TPC-H at scale 2 on Spark 3.5.8",
      "bench tpch --scale 2 --warmups 1 --runs 3 --rerun-below --spark 3.5.8"),
  MODES("modes/over-the-transport.json", 10, "the modes beside each other, every remote block over the transport",
      "bench repartition terasort --engines stock,sluice,sluice-ucx,sluice-rdma "
          + "--conf spark.shuffle.readHostLocalDisk=false --warmups 1 --runs 3"),
  ENCRYPTION("modes/encryption.json", 8, "Spark's I/O encryption, on both engines",
      "bench repartition terasort --engines stock,sluice,stock-encrypted,sluice-encrypted --warmups 2 --runs 5"),
  DEMO("demo/demo.json", 3, "./sluice demo", "demo"),

  PARTITIONS("scale/partitions.json", 35, "what a row costs with 10 to 10,000 partitions",
      "bench partitions --accounting --warmups 1 --runs 3"),
  DRIVER("scale/driver.json", 25, "what a million blocks, and 10,000 shuffles, cost the driver",
      "bench driver --warmups 0 --runs 3"),
  SPILLING_10M("scale/spilling-10m.json", 15, "sorts of 10 million rows in a tenth of their size",
      "bench spilling --rows 10000000 --warmups 1 --runs 3"),
  SPILLING_50M("scale/spilling-50m.json", 45, "the same of 50 million",
      "bench spilling --rows 50000000 --warmups 0 --runs 2"),
  SPILLING_200M("scale/spilling-200m.json", 130, "the same of 200 million, which needs 24 GB of disk",
      "bench spilling --rows 200000000 --warmups 0 --runs 1"),

  COMET_TPCH("peers/comet-tpch.json", 60, "TPC-H at scale 1 beside Comet, on Spark 3.5.8",
      "bench tpch --engines stock,sluice,comet,comet+sluice --warmups 1 --runs 3"),
  PEERS("peers/workloads.json", 80, "shuffles beside other projects', whose servers build/peer-homes must have",
      "bench repartition join sort groupby skew-join terasort --engines stock,sluice,comet,celeborn,uniffle "
          + FigurePart.HOMES + " --warmups 2 --runs 3"),
  PEERS_TPCH("peers/tpch.json", 75, "TPC-H at scale 1 beside other projects, likewise",
      "bench tpch --engines stock,sluice,comet,celeborn,uniffle " + FigurePart.HOMES + " --warmups 1 --runs 3");

  private static final String HOMES =
      "--peer-home celeborn=build/peer-homes/celeborn --peer-home uniffle=build/peer-homes/uniffle";
  private static final List<FigurePart> WITH_PEERS = List.of(COMET_TPCH, PEERS, PEERS_TPCH);

  private static final List<FigurePart> OF_SCALE =
      List.of(PARTITIONS, DRIVER, SPILLING_10M, SPILLING_50M, SPILLING_200M);

  /**
   * Those that are measured without being asked for by name: all that need nothing but the checkout and registries, and
   * are not about growth, which take long.
   */
  public static final List<FigurePart> BY_DEFAULT = Arrays.stream(values())
      .filter(part -> !WITH_PEERS.contains(part) && !OF_SCALE.contains(part)).toList();

  /** The parts that sort ever more rows in a tenth of their size, the fewest first. */
  public static final List<FigurePart> SPILLING = List.of(SPILLING_10M, SPILLING_50M, SPILLING_200M);

  /** The parts whose workloads are one table. */
  public static final List<FigurePart> WORKLOADS = List.of(RDD, RDD_MORE, SQL, SQL_MORE, OVERHEAD);

  /** The parts that are compared with goals and shown on the report page. */
  public static final List<FigurePart> REPORTED = List.of(RDD, RDD_MORE, SQL, SQL_MORE, OVERHEAD, COLD);

  private final String file;
  private final int minutes;
  private final String what;
  private final String command;

  FigurePart(String file, int minutes, String what, String command) {
    this.file = file;
    this.minutes = minutes;
    this.what = what;
    this.command = command;
  }

  /** The part called {@code name} on the command line. */
  public static FigurePart named(String name) {
    return Arrays.stream(values()).filter(part -> part.label().equals(name)).findFirst()
        .orElseThrow(() -> new IllegalArgumentException("unknown part '" + name + "'; known are "
            + Arrays.stream(values()).map(FigurePart::label).collect(Collectors.joining(", "))));
  }

  /** The name on the command line. */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** Below {@code bench/results}. */
  public String file() {
    return file;
  }

  /** Estimated duration on two cores without other load. */
  public int minutes() {
    return minutes;
  }

  public String what() {
    return what;
  }

  /** The arguments behind {@code ./sluice} that measure it, without {@code --json}. */
  public List<String> command() {
    return List.of(command.split(" "));
  }
}
