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
 * @param workload for {@code RUN} and {@code VERIFY}: a name of the catalogue; else null
 * @param table for {@code TABLE}: its name; else null
 * @param sizing for {@code RUN}, {@code VERIFY} and {@code TABLE}; else null
 */
public record Request(Action action, Map<String, String> settings, List<String> ownKeys, String workload, String table,
    Sizing sizing) {

  /** What a driver can be asked for. */
  public enum Action { START, RUN, VERIFY, TABLE }

  public static Request start(Map<String, String> settings, List<String> ownKeys) {
    return new Request(Action.START, settings, ownKeys, null, null, null);
  }

  public static Request run(String workload, Sizing sizing) {
    return new Request(Action.RUN, null, null, workload, null, sizing);
  }

  public static Request verify(String workload, Sizing sizing) {
    return new Request(Action.VERIFY, null, null, workload, null, sizing);
  }

  /** Make {@code table} of the tables that {@code sizing} names. */
  public static Request table(String table, Sizing sizing) {
    return new Request(Action.TABLE, null, null, null, table, sizing);
  }
}
