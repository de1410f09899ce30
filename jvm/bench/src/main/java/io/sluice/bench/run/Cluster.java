package io.sluice.bench.run;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/**
 * Several hosts on this machine, brought up and taken down by {@code ./sluice cluster}: a standalone Spark cluster
 * whose links have the rate, delay and loss asked for. It is there for one run of the benchmark: when it is closed,
 * when the user interrupts this process, and at the latest when the next one brings its own up, everything on it ends.
 */
public final class Cluster implements AutoCloseable {

  /** Which of the checkout's clusters is the benchmark's. */
  private static final String NAME = "bench";

  private final Hosts hosts;
  private final String url;
  private final int executorMib;
  private final Workplace workplace;
  private final Thread closer = new Thread(this::close, "take-cluster-down");
  private boolean closed;

  private Cluster(Hosts hosts, String url, int executorMib, Workplace workplace) {
    this.hosts = hosts;
    this.url = url;
    this.executorMib = executorMib;
    this.workplace = workplace;
    Runtime.getRuntime().addShutdownHook(closer);
  }

  /**
   * Brings {@code hosts} up and waits until they are ready.
   *
   * @param applications how many there will be at a time, each with an executor on every worker
   * @param executorMib heap of an executor
   * @param memoryMib what an executor's heap may be set to at most
   * @throws IllegalStateException if this machine cannot have them, or has the benchmark's cluster already
   */
  public static Cluster up(Hosts hosts, int applications, int executorMib, long memoryMib, SparkHome home,
      Workplace workplace) {
    List<String> command = new ArrayList<>(List.of("cluster", "up", "--name", NAME,
        "--owner", Long.toString(ProcessHandle.current().pid()),
        "--spark", home.path().toString(),
        "--workers", Integer.toString(hosts.workers()),
        "--cores", Integer.toString(applications * hosts.cores()),
        "--memory", applications * memoryMib + "m"));
    addOption(command, "--rate", hosts.rate());
    addOption(command, "--delay", hosts.delay());
    addOption(command, "--loss", hosts.loss());
    Cluster cluster = new Cluster(hosts, workplace.sluice("no cluster", command), executorMib, workplace);
    if (hosts.slow() != null) {
      cluster.slowDown(hosts.slow());
    }
    return cluster;
  }

  private void slowDown(Hosts.SlowHost slow) {
    try {
      link(slow.host(), "rate", slow.rate());
    } catch (IllegalStateException e) {
      close();
      throw e;
    }
  }

  private void link(String host, String... change) {
    List<String> command = new ArrayList<>(List.of("cluster", "link", "--name", NAME, host));
    command.addAll(List.of(change));
    workplace.sluice("the link of " + host + " is not changed", command);
  }

  private static void addOption(List<String> command, String option, String value) {
    if (value != null) {
      command.addAll(List.of(option, value));
    }
  }

  /** Where applications run that share it: each gets one executor on every worker. */
  public Site site() {
    Map<String, String> settings = Map.of(
        "spark.executor.cores", Integer.toString(hosts.cores()),
        "spark.cores.max", Integer.toString(hosts.workers() * hosts.cores()));
    Path root = workplace.root();
    return new Site(new Master(url, OptionalInt.of(executorMib), Master.DRIVER_MIB), hosts, settings,
        List.of(root.resolve("sluice").toString(), "cluster", "run", "--name", NAME, "--"),
        root.resolve("build/cluster").resolve(NAME).resolve("local"), workplace.logs().resolve("cluster-" + NAME),
        hosts.away() == null ? null : new HostAbsence(hosts.away(), state -> link(hosts.away().host(), state)));
  }

  /** Ends all that runs on it; only the logs stay. May be called from any thread. */
  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    workplace.sluice("the cluster is not taken down", List.of("cluster", "down", "--name", NAME));
  }
}
