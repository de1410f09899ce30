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
  PERFTEST("transport/reads/perftest.json", 17, "one-sided reads between two processes, beside bare UCX",
      "perftest --self --transports cma,shm,tcp --sizes 8k,64k,1m,16m --gets 1,8"),
  PERFTEST_JOBS("transport/reads/perftest-jobs.json", 2, "the same as jobs read: as many reads as the transport likes",
      "perftest --self --transports cma,tcp --sizes 1m --window 32 --spread 512m"),
  READS("transport/reads/in-jobs.json", 4, "blocks of 1 MiB read within a job, by Netty and one-sidedly",
      FigurePart.REMOTE_READS),
  READS_TCP("transport/reads/in-jobs-tcp.json", 4, "the same where UCX may use TCP alone",
      FigurePart.REMOTE_READS + " --conf spark.executorEnv.UCX_TLS=tcp,self"),

  PARTITIONS("scale/partitions.json", 35, "what a row costs with 10 to 10,000 partitions",
      "bench partitions --accounting --warmups 1 --runs 3"),
  DRIVER("scale/driver.json", 25, "what a million blocks, and 10,000 shuffles, cost the driver",
      "bench driver --warmups 0 --runs 1"),
  LOCATIONS("transport/locations.json", 40, "2,000 map tasks and 10,000 reduce tasks, 20 million blocks of a row",
      "bench many-blocks --rows 20000000 --partitions 10000 --engines stock,sluice,sluice-ucx "
          + "--conf spark.shuffle.readHostLocalDisk=false --warmups 0 --runs 1"),
  REMOTE_BLOCKS("scale/remote-blocks.json", 10, "a million small blocks, those of the other executor by the network",
      "bench many-blocks --engines stock,sluice,sluice-ucx --conf spark.shuffle.readHostLocalDisk=false "
          + "--warmups 0 --runs 3"),
  TWO_HOSTS("scale/two-hosts.json", 9, "two hosts, links of 100 Mbit/s",
      FigurePart.TRANSFERS + " --cluster 2 --rate 100mbit"),
  SPILLING_10M("scale/spilling-10m.json", 15, "sorts of 10 million rows in a tenth of their size",
      "bench spilling --rows 10000000 --warmups 1 --runs 3"),
  SPILLING_50M("scale/spilling-50m.json", 45, "the same of 50 million",
      "bench spilling --rows 50000000 --warmups 0 --runs 2"),
  SPILLING_200M("scale/spilling-200m.json", 130, "the same of 200 million, which needs 24 GB of disk",
      "bench spilling --rows 200000000 --warmups 0 --runs 1"),

  COMET_TPCH("peers/comet-tpch.json", 30, "TPC-H at scale 2 beside Comet, on Spark 3.5.8",
      "bench tpch --engines stock,sluice,comet,comet+sluice --scale 2 --master local-cluster[2,1,1536] "
          + "--warmups 2 --runs 3"),
  COMET_EXCHANGE("peers/comet-exchange.json", 12, "one exchange of TPC-H's lineitem, beside Comet's own",
      "bench exchange --engines stock,sluice,comet,comet+sluice --scale 2 --master local-cluster[2,1,1536] "
          + "--warmups 2 --runs 5"),
  PEERS("peers/workloads.json", 80, "shuffles beside other projects', whose servers build/peer-homes must have",
      "bench repartition join sort groupby skew-join terasort --engines stock,sluice,comet,celeborn,uniffle "
          + FigurePart.HOMES + " --warmups 2 --runs 3"),
  PEERS_TPCH("peers/tpch.json", 75, "TPC-H at scale 1 beside other projects, likewise",
      "bench tpch --engines stock,sluice,comet,celeborn,uniffle " + FigurePart.HOMES + " --warmups 1 --runs 3"),

  NETWORKS_ONE_MACHINE("transport/networks/one-machine.json", 5, "the workloads of networks on one host",
      FigurePart.TRANSFERS + " --master local-cluster[3,1,2048]"),
  NETWORKS_100MBIT("transport/networks/100mbit.json", 9, "three hosts, links of 100 Mbit/s",
      FigurePart.TRANSFERS + FigurePart.HOSTS + " --rate 100mbit"),
  NETWORKS_1GBIT("transport/networks/1gbit.json", 6, "of 1 Gbit/s",
      FigurePart.TRANSFERS + FigurePart.HOSTS + " --rate 1gbit"),
  NETWORKS_10GBIT("transport/networks/10gbit.json", 5, "of 10 Gbit/s",
      FigurePart.TRANSFERS + FigurePart.HOSTS + " --rate 10gbit"),
  NETWORKS_LOSS_TENTH("transport/networks/loss-0.1.json", 6, "of 1 Gbit/s that lose 0.1 % of the packets",
      FigurePart.TRANSFERS + FigurePart.HOSTS + " --rate 1gbit --loss 0.1%"),
  NETWORKS_LOSS_ONE("transport/networks/loss-1.json", 8, "of 1 Gbit/s that lose 1 % of the packets",
      FigurePart.TRANSFERS + FigurePart.HOSTS + " --rate 1gbit --loss 1%"),
  NETWORKS_DELAY("transport/networks/delay.json", 7, "of 1 Gbit/s with a delay of 5 ms, each way",
      FigurePart.TRANSFERS + FigurePart.HOSTS + " --rate 1gbit --delay 5ms"),
  NETWORKS_SLOW_HOST("transport/networks/slow-host.json", 9, "of 1 Gbit/s, but 100 Mbit/s to one host",
      FigurePart.TRANSFERS + FigurePart.HOSTS + " --rate 1gbit --slow-host w3=100mbit"),
  NETWORKS_AWAY("transport/networks/away.json", 30, "of 1 Gbit/s, one host away for 30 s in every run",
      FigurePart.TRANSFERS + " --rows 20000000" + FigurePart.HOSTS + " --rate 1gbit --away w3=30s"),
  DENSER_100MBIT("transport/networks/denser-100mbit.json", 25, "Zstandard beside LZ4, links of 100 Mbit/s",
      FigurePart.DENSER + FigurePart.HOSTS + " --rate 100mbit"),
  DENSER_1GBIT("transport/networks/denser-1gbit.json", 20, "the same, of 1 Gbit/s",
      FigurePart.DENSER + FigurePart.HOSTS + " --rate 1gbit");

  private static final String PERFTEST_COMMAND = "perftest";
  private static final String REMOTE_READS = "bench remote-read --engines stock,sluice-ucx --warmups 1 --runs 5";

  /** The name of a group of parts on the command line. */
  public static final String NETWORKS_LABEL = "networks";

  private static final String TRANSFERS = "bench repartition terasort --engines stock,sluice,sluice-ucx "
      + "--warmups 1 --runs 3 --conf spark.executor.memory=2g";
  private static final String DENSER = "bench repartition terasort tpch-q9 tpch-q18 tpch-q21 "
      + "--engines stock,stock-zstd,sluice,sluice-zstd --warmups 1 --runs 3 --conf spark.executor.memory=2g";
  private static final String HOSTS = " --cluster 3";
  private static final String NEEDS_ROOT = " --cluster ";
  private static final String HOMES =
      "--peer-home celeborn=build/peer-homes/celeborn --peer-home uniffle=build/peer-homes/uniffle";
  private static final List<FigurePart> WITH_PEERS = List.of(COMET_TPCH, COMET_EXCHANGE, PEERS, PEERS_TPCH);

  private static final List<FigurePart> OF_SCALE =
      List.of(PARTITIONS, DRIVER, LOCATIONS, REMOTE_BLOCKS, TWO_HOSTS, SPILLING_10M, SPILLING_50M, SPILLING_200M);

  /** Links of several kinds, in the order of their table; all but the first need root, for hosts of their own. */
  public static final List<FigurePart> NETWORKS = List.of(NETWORKS_ONE_MACHINE, NETWORKS_100MBIT, NETWORKS_1GBIT,
      NETWORKS_10GBIT, NETWORKS_LOSS_TENTH, NETWORKS_LOSS_ONE, NETWORKS_DELAY, NETWORKS_SLOW_HOST, NETWORKS_AWAY);

  /**
   * Those that are measured without being asked for by name: all that need nothing but the checkout and registries, and
   * are not about growth, which take long.
   */
  public static final List<FigurePart> BY_DEFAULT = Arrays.stream(values())
      .filter(part -> !WITH_PEERS.contains(part) && !OF_SCALE.contains(part) && !NETWORKS.contains(part)
          && !part.command.contains(NEEDS_ROOT))
      .toList();

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

  /** The part called {@code name} on the command line, or those of a group. */
  public static List<FigurePart> named(String name) {
    if (name.equals(NETWORKS_LABEL)) {
      return NETWORKS;
    }
    return List.of(Arrays.stream(values()).filter(part -> part.label().equals(name)).findFirst()
        .orElseThrow(() -> new IllegalArgumentException("unknown part '" + name + "'; known are "
            + Arrays.stream(values()).map(FigurePart::label).collect(Collectors.joining(", ")) + ", and "
            + NETWORKS_LABEL + " for all that begin so")));
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

  /** Whether it is measured by {@code ./sluice perftest}, whose results are {@link PerftestResults}. */
  public boolean isPerftests() {
    return command().get(0).equals(PERFTEST_COMMAND);
  }

  /** The arguments behind {@code ./sluice} that measure it, without {@code --json}. */
  public List<String> command() {
    return List.of(command.split(" "));
  }
}
