package io.sluice.bench.protocol;

import io.sluice.bench.workload.Sizing;
import java.util.Map;

/**
 * One line from the command line to a driver.
 *
 * @param action what to do
 * @param settings for {@code START}: the application's Spark settings; else null
 * @param workload for {@code RUN} and {@code VERIFY}: a name of the catalogue; else null
 * @param sizing for {@code RUN} and {@code VERIFY}; else null
 */
public record Request(Action action, Map<String, String> settings, String workload, Sizing sizing) {

  /** What a driver can be asked for. */
  public enum Action { START, RUN, VERIFY }

  public static Request start(Map<String, String> settings) {
    return new Request(Action.START, settings, null, null);
  }

  public static Request run(String workload, Sizing sizing) {
    return new Request(Action.RUN, null, workload, sizing);
  }

  public static Request verify(String workload, Sizing sizing) {
    return new Request(Action.VERIFY, null, workload, sizing);
  }
}
