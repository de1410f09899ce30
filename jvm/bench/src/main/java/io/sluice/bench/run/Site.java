package io.sluice.bench.run;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * Where applications run.
 *
 * @param master Spark's master
 * @param hosts those behind the master, if it is a {@link Cluster}'s; else null
 * @param settings what an application must ask of the master
 * @param driverCommand what goes in front of a driver's command line, to start it where executors can reach it
 * @param localDir where executors keep shuffle files; null for a folder of the application's
 * @param executorLogs where executors' logs are; null for a folder of the application's
 * @param absence of one host in the middle of every counted run; null for none
 */
public record Site(Master master, Hosts hosts, Map<String, String> settings, List<String> driverCommand, Path localDir,
    Path executorLogs, HostAbsence absence) {

  /** A master that drivers reach from here. */
  public static Site of(Master master) {
    return new Site(master, null, Map.of(), List.of(), null, null, null);
  }

  /** The same with {@code command} in front of drivers' command lines. */
  public Site startedBy(List<String> command) {
    return new Site(master, hosts, settings, command, localDir, executorLogs, absence);
  }
}
