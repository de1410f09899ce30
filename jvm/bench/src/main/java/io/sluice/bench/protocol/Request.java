package io.sluice.bench.protocol;

import io.sluice.bench.workload.Sizing;
import java.util.List;
import java.util.Map;

/**
 * One line from the command line to a driver.
 *
 * @param action what to do
 * @param settings for {@code START}: the application's Spark settings; else null
 * @param ownKeys for {@code START}: those of {@code settings} that workloads which want Spark's defaults do not
 *     get, because they are the benchmark's choice and not the user's; else null
 * @param servers for {@code START}: ids of processes on this machine that serve this application alone; else null
 * @param workload for {@code RUN} and {@code VERIFY}: a name of the catalogue; else null
 * @param tables for {@code TABLES}: their names; else null
 * @param sizing for {@code RUN}, {@code VERIFY} and {@code TABLES}; else null
 */
public record Request(Action action, Map<String, String> settings, List<String> ownKeys, List<Long> servers,
    String workload, List<String> tables, Sizing sizing) {

  /** What a driver can be asked for. */
  public enum Action { START, RUN, VERIFY, TABLES }

  public static Request start(Map<String, String> settings, List<String> ownKeys, List<Long> servers) {
    return new Request(Action.START, settings, ownKeys, servers, null, null, null);
  }

  public static Request run(String workload, Sizing sizing) {
    return new Request(Action.RUN, null, null, null, workload, null, sizing);
  }

  public static Request verify(String workload, Sizing sizing) {
    return new Request(Action.VERIFY, null, null, null, workload, null, sizing);
  }

  /** Make those of the tables that {@code sizing} names whose names are {@code tables}. */
  public static Request tables(List<String> tables, Sizing sizing) {
    return new Request(Action.TABLES, null, null, null, null, tables, sizing);
  }
}
