package io.sluice.bench;

import io.sluice.bench.run.Hosts;
import java.util.Map;
import java.util.Set;
import picocli.CommandLine.Option;

/** The options that put a benchmark on several hosts of this machine. */
final class ClusterOptions {

  /** Keys of Spark that {@code --cluster} itself sets. */
  private static final Set<String> OWN_KEYS = Set.of("spark.master", "spark.executor.cores", "spark.cores.max");

  @Option(names = "--cluster", paramLabel = "N[,CORES]",
      description = "Instead of executors on this host: N workers as hosts of their own on this machine, each with an "
          + "executor of CORES cores (1) for every engine. Linux, as root; see "
          + "./sluice cluster help.") private String cluster;

  @Option(names = "--rate", paramLabel = "RATE",
      description = "Of every link of the cluster, each way: 1gbit, 200mbit. Default: no limit.") private String rate;

  @Option(names = "--delay", paramLabel = "TIME",
      description = "From a host of the cluster to any other: 0.2ms. Default: none.") private String delay;

  @Option(names = "--loss", paramLabel = "PERCENT",
      description = "Of the packets that a host of the cluster sends: 1%%. Default: none.") private String loss;

  @Option(names = "--slow-host", paramLabel = "HOST=RATE",
      description = "One host of the cluster whose link is slower than the others', each way: w3=10mbit. "
          + "Default: none.") private String slowHost;

  /**
   * The hosts asked for; null if none are.
   *
   * @param master what the user gave as {@code --master}; null if nothing
   * @param conf the user's {@code --conf} arguments
   * @throws IllegalArgumentException for options that contradict each other
   */
  Hosts hosts(String master, Map<String, String> conf) {
    if (cluster == null) {
      if (rate != null || delay != null || loss != null || slowHost != null) {
        throw new IllegalArgumentException("--rate, --delay, --loss and --slow-host are for the links of --cluster");
      }
      return null;
    }
    if (master != null) {
      throw new IllegalArgumentException("--cluster brings its own master; leave out --master");
    }
    conf.keySet().stream().filter(OWN_KEYS::contains).findFirst().ifPresent(key -> {
      throw new IllegalArgumentException("--cluster N,CORES sets " + key + "; leave out --conf " + key);
    });
    Hosts hosts = Hosts.parse(cluster, rate, delay, loss);
    return slowHost == null ? hosts : hosts.withSlow(slowHost);
  }
}
