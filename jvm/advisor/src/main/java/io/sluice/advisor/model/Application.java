package io.sluice.advisor.model;

import io.sluice.advisor.log.LogHealth;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * An application as its event log tells it. Texts are clean: without control characters.
 *
 * @param log where the log is
 * @param id Spark's; empty if the log does not say, as all texts here
 * @param startedMs when it started, in milliseconds since 1970; the first event's time if the log does not say
 * @param endedMs when it ended; the last event's time if the log does not say
 * @param ended whether the log says that it ended
 * @param cores of executors at once, the most there were; at least 1
 * @param executors the most there were at once
 * @param settings Spark's properties
 * @param stages those with tasks, in the order of their numbers and attempts
 * @param exceeded the limits beyond which something of the log was left out; empty for most logs
 */
public record Application(String log, String id, String name, String sparkVersion, String javaVersion, long startedMs,
    long endedMs, boolean ended, long cores, long executors, Map<String, String> settings, List<Stage> stages,
    Set<Limit> exceeded, List<Job> jobs, LogHealth health) {

  /** The value of a setting of Spark, or Spark's default. */
  public String setting(String key, String otherwise) {
    String value = settings.get(key);
    return value == null || value.isEmpty() ? otherwise : value;
  }

  /** Whether a setting is {@code true}, in Spark's reading. */
  public boolean isSet(String key, boolean otherwise) {
    return setting(key, Boolean.toString(otherwise)).equalsIgnoreCase("true");
  }

  public double durationS() {
    return Math.max(0, endedMs - startedMs) / 1e3;
  }
}
