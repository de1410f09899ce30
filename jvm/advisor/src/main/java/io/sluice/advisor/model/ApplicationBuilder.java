package io.sluice.advisor.model;

import io.sluice.advisor.log.LogHealth;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Hears the events of one log in their order and keeps sums. What belongs to a query (accumulators of its exchanges)
 * is dropped when the query ends, so memory grows with the number of stages and jobs only. One thread.
 */
public final class ApplicationBuilder {
  /** Accumulators that are known at once; a log without ends of queries would fill the memory. */
  private static final int MAX_ACCUMULATORS = 500_000;
  /** Stages that are kept; tasks of further ones are forgotten. */
  private static final int MAX_STAGES = 200_000;

  private final Map<Long, Stage> stages = new HashMap<>();
  /** Every name once: many stages have the same. */
  private final Map<String, String> names = new HashMap<>();
  private final Map<Integer, JobStart> openJobs = new LinkedHashMap<>();
  private final List<Job> jobs = new ArrayList<>();
  private final Map<Long, Exchange> exchanges = new HashMap<>();
  private final Map<Long, List<Long>> accumulatorsOfExecution = new HashMap<>();
  private final Map<Long, Long> executionStarts = new HashMap<>();
  private final Map<String, Long> executors = new HashMap<>();
  private long cores;
  private long mostCores;
  private long mostExecutors;
  private String id = "";
  private String name = "";
  private String sparkVersion = "";
  private String javaVersion = "";
  private Map<String, String> settings = Map.of();
  private long startedMs;
  private long endedMs;
  private long firstMs = Long.MAX_VALUE;
  private long lastMs;
  private boolean stagesLeftOut;

  public void sparkVersion(String version) {
    sparkVersion = version;
  }

  /** The application's start; of several in one file, the first counts. */
  public void started(String itsName, String itsId, long time) {
    if (startedMs == 0) {
      name = itsName;
      id = itsId;
      startedMs = time;
      seen(time);
    }
  }

  public void ended(long time) {
    endedMs = time;
    seen(time);
  }

  public void environment(String java, Map<String, String> properties) {
    javaVersion = java;
    settings = Map.copyOf(properties);
  }

  public void executorAdded(String executor, long itsCores) {
    Long before = executors.put(executor, itsCores);
    cores += itsCores - (before == null ? 0 : before);
    mostCores = Math.max(mostCores, cores);
    mostExecutors = Math.max(mostExecutors, executors.size());
  }

  public void executorRemoved(String executor) {
    Long itsCores = executors.remove(executor);
    cores -= itsCores == null ? 0 : itsCores;
  }

  /**
   * A plan of a query, or a new one of the same query (adaptive execution).
   *
   * @param exchangesOfPlan by their accumulators
   */
  public void plan(long execution, long time, Map<Long, Exchange> exchangesOfPlan) {
    if (time > 0) {
      executionStarts.put(execution, time);
      seen(time);
    }
    if (exchanges.size() + exchangesOfPlan.size() <= MAX_ACCUMULATORS) {
      exchanges.putAll(exchangesOfPlan);
      accumulatorsOfExecution.computeIfAbsent(execution, number -> new ArrayList<>())
          .addAll(exchangesOfPlan.keySet());
    }
  }

  public void executionEnded(long execution, long time) {
    seen(time);
    executionStarts.remove(execution);
    List<Long> accumulators = accumulatorsOfExecution.remove(execution);
    if (accumulators != null) {
      accumulators.forEach(exchanges::remove);
    }
  }

  public void jobStarted(JobStart job) {
    seen(job.submittedMs());
    if (job.id() >= 0) {
      long query = executionStarts.getOrDefault(job.execution(), job.submittedMs());
      job.queryStartedMs(Math.min(query, job.submittedMs()));
      openJobs.put(job.id(), job);
    }
  }

  public void jobEnded(int job, long time) {
    seen(time);
    JobStart start = openJobs.remove(job);
    if (start != null) {
      jobs.add(start.job(time, shared(start.group())));
    }
  }

  public void stageSubmitted(StageInfo info) {
    seen(info.submittedMs);
    if (info.id >= 0) {
      stage(info.id, info.attempt).describe(info, shared(info.name));
    }
  }

  public void stageCompleted(StageInfo info) {
    seen(info.submittedMs);
    seen(info.completedMs);
    if (info.id < 0) {
      return;
    }
    Stage stage = stage(info.id, info.attempt);
    stage.describe(info, shared(info.name));
    for (SqlMetric metric : info.metrics) {
      if (metric.name().equals(SqlMetric.SORT_TIME)) {
        stage.sorted(metric.value());
      } else {
        stage.wrote(exchanges.get(metric.accumulator()), metric.value());
      }
    }
  }

  public void taskEnded(TaskEnd task) {
    seen(task.launchedMs());
    seen(task.finishedMs());
    if (task.stage() >= 0) {
      stage(task.stage(), task.attempt()).add(task);
    }
  }

  private Stage stage(int stage, int attempt) {
    if (stages.size() >= MAX_STAGES) {
      stagesLeftOut = true;
      return new Stage(stage, attempt);
    }
    return stages.computeIfAbsent((long) stage << Integer.SIZE | attempt & 0xffffffffL,
        key -> new Stage(stage, attempt));
  }

  private String shared(String text) {
    String known = names.putIfAbsent(text, text);
    return known == null ? text : known;
  }

  private void seen(long time) {
    if (time > 0) {
      firstMs = Math.min(firstMs, time);
      lastMs = Math.max(lastMs, time);
    }
  }

  /** The application; this builder is of no use afterwards. */
  public Application build(String log, LogHealth health) {
    openJobs.values().forEach(start -> jobs.add(start.job(0, shared(start.group()))));
    long start = startedMs > 0 ? startedMs : firstMs == Long.MAX_VALUE ? 0 : firstMs;
    List<Stage> ran = stages.values().stream().filter(stage -> stage.totals().tasks() > 0)
        .sorted(Comparator.comparingInt(Stage::id).thenComparingInt(Stage::attempt)).collect(Collectors.toList());
    return new Application(log, id, name, sparkVersion, javaVersion, start, Math.max(endedMs > 0 ? endedMs : lastMs,
        start), endedMs > 0, Math.max(1, mostCores), Math.max(1, mostExecutors), settings, List.copyOf(ran),
        stagesLeftOut, List.copyOf(jobs), health);
  }
}
