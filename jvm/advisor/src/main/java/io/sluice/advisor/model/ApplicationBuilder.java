package io.sluice.advisor.model;

import io.sluice.advisor.log.LogHealth;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Hears the events of one log in their order and keeps sums. What belongs to a query (accumulators of its exchanges)
 * is dropped when the query ends, so memory grows with the number of stages and jobs only, and each map has a
 * {@link Limit}. One thread.
 */
public final class ApplicationBuilder {
  private final ToIntFunction<Limit> limits;
  private final Set<Limit> exceeded = EnumSet.noneOf(Limit.class);
  private final Map<Long, Stage> stages = new HashMap<>();
  /** Of all stages. */
  private int parents;
  /** Every name once: many stages have the same. */
  private final Map<String, String> names = new HashMap<>();
  private final Map<Integer, JobStart> openJobs = new LinkedHashMap<>();
  private final List<Job> jobs = new ArrayList<>();
  private final Map<Long, Exchange> exchanges = new HashMap<>();
  private final Map<Long, Set<Long>> accumulatorsOfExecution = new HashMap<>();
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

  public ApplicationBuilder() {
    this(Limit::most);
  }

  ApplicationBuilder(ToIntFunction<Limit> limits) {
    this.limits = limits;
  }

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
    if (!executors.containsKey(executor) && !fits(Limit.EXECUTORS, executors.size() + 1)) {
      return;
    }
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
    seen(time);
    if (time > 0 && (executionStarts.containsKey(execution) || fits(Limit.QUERIES, executionStarts.size() + 1))) {
      executionStarts.put(execution, time);
    }
    boolean known = accumulatorsOfExecution.containsKey(execution);
    if (!exchangesOfPlan.isEmpty() && (known || fits(Limit.QUERIES, accumulatorsOfExecution.size() + 1))
        && fits(Limit.EXCHANGES, exchanges.size() + exchangesOfPlan.size())) {
      exchanges.putAll(exchangesOfPlan);
      accumulatorsOfExecution.computeIfAbsent(execution, number -> new HashSet<>())
          .addAll(exchangesOfPlan.keySet());
    }
  }

  public void executionEnded(long execution, long time) {
    seen(time);
    executionStarts.remove(execution);
    Set<Long> accumulators = accumulatorsOfExecution.remove(execution);
    if (accumulators != null) {
      accumulators.forEach(exchanges::remove);
    }
  }

  public void jobStarted(JobStart job) {
    seen(job.submittedMs());
    boolean known = openJobs.containsKey(job.id());
    if (job.id() >= 0 && (known || fits(Limit.JOBS, openJobs.size() + jobs.size() + 1))) {
      long query = executionStarts.getOrDefault(job.execution(), job.submittedMs());
      job.queryStartedMs(Math.min(query, job.submittedMs()));
      openJobs.put(job.id(), job);
    }
  }

  public void jobEnded(int job, long time) {
    seen(time);
    JobStart start = openJobs.remove(job);
    if (start != null) {
      jobs.add(start.job(time));
    }
  }

  public void stageSubmitted(StageInfo info) {
    seen(info.submittedMs);
    if (info.id >= 0) {
      describe(stage(info.id, info.attempt), info);
    }
  }

  public void stageCompleted(StageInfo info) {
    seen(info.submittedMs);
    seen(info.completedMs);
    if (info.id < 0) {
      return;
    }
    Stage stage = stage(info.id, info.attempt);
    describe(stage, info);
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
    long key = (long) stage << Integer.SIZE | attempt & 0xffffffffL;
    Stage known = stages.get(key);
    if (known == null) {
      known = new Stage(stage, attempt);
      if (fits(Limit.STAGES, stages.size() + 1)) {
        stages.put(key, known);
      }
    }
    return known;
  }

  private void describe(Stage stage, StageInfo info) {
    int others = parents - stage.parentsInAll();
    if (!fits(Limit.PARENTS, others + info.parentsInAll())) {
      info.parents.clear();
      info.inputs.clear();
    }
    info.inputs.replaceAll(input -> new ShuffleInput(input.rdd(), shared(input.operation()), input.parents(),
        input.partitions()));
    stage.describe(info, shared(info.name));
    parents = others + stage.parentsInAll();
  }

  /** The text itself, one object for all that are equal; empty if there are too many. */
  private String shared(String text) {
    String known = names.get(text);
    if (known == null) {
      known = fits(Limit.NAMES, names.size() + 1) ? text : "";
      if (!known.isEmpty()) {
        names.put(text, text);
      }
    }
    return known;
  }

  private boolean fits(Limit limit, int size) {
    boolean fits = size <= limits.applyAsInt(limit);
    if (!fits) {
      exceeded.add(limit);
    }
    return fits;
  }

  /** The number of entries in the map that has the most. */
  int largestMap() {
    return Stream.of(stages.size(), parents, names.size(), openJobs.size() + jobs.size(), exchanges.size(),
        accumulatorsOfExecution.size(), accumulatorsOfExecution.values().stream().mapToInt(Set::size).sum(),
        executionStarts.size(), executors.size()).max(Comparator.naturalOrder()).get();
  }

  private void seen(long time) {
    if (time > 0) {
      firstMs = Math.min(firstMs, time);
      lastMs = Math.max(lastMs, time);
    }
  }

  /** The application; this builder is of no use afterwards. */
  public Application build(String log, LogHealth health) {
    openJobs.values().forEach(start -> jobs.add(start.job(0)));
    long start = startedMs > 0 ? startedMs : firstMs == Long.MAX_VALUE ? 0 : firstMs;
    List<Stage> ran = stages.values().stream().filter(stage -> stage.totals().tasks() > 0)
        .sorted(Comparator.comparingInt(Stage::id).thenComparingInt(Stage::attempt)).collect(Collectors.toList());
    return new Application(log, id, name, sparkVersion, javaVersion, start, Math.max(endedMs > 0 ? endedMs : lastMs,
        start), endedMs > 0, Math.max(1, mostCores), Math.max(1, mostExecutors), settings, List.copyOf(ran),
        exceeded, List.copyOf(jobs), health);
  }
}
