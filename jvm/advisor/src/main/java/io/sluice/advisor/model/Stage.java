package io.sluice.advisor.model;

import java.util.List;

/**
 * One attempt of a stage. Filled while the log is read, then read only; about 0.7 KB, because an application may have a
 * hundred thousand.
 */
public final class Stage {
  private final int id;
  private final int attempt;
  private final TaskTotals totals = new TaskTotals();
  private String name = "";
  private long submittedMs;
  private long completedMs;
  private boolean python;
  private int outputRdd = -1;
  private List<Integer> parents = List.of();
  private List<ShuffleInput> inputs = List.of();
  private Exchange exchange;
  private long dataBytes;
  private long sortMs;

  Stage(int id, int attempt) {
    this.id = id;
    this.attempt = attempt;
  }

  void add(TaskEnd task) {
    totals.add(task);
  }

  void describe(StageInfo info, String sharedName) {
    name = sharedName;
    submittedMs = Math.max(submittedMs, info.submittedMs);
    completedMs = Math.max(completedMs, info.completedMs);
    python |= info.python;
    outputRdd = info.outputRdd;
    parents = List.copyOf(info.parents);
    inputs = List.copyOf(info.inputs);
  }

  void wrote(Exchange written, long bytes) {
    exchange = written == null ? exchange : written;
    dataBytes += bytes;
  }

  void sorted(long millis) {
    sortMs += millis;
  }

  int parentsInAll() {
    return StageInfo.parentsInAll(parents, inputs);
  }

  public int id() {
    return id;
  }

  public int attempt() {
    return attempt;
  }

  public TaskTotals totals() {
    return totals;
  }

  public String name() {
    return name;
  }

  /** When its first task was launched, in milliseconds since 1970; 0 if the log does not say. */
  public long startMs() {
    return Math.max(submittedMs, totals.firstLaunchMs());
  }

  /** When it was complete or, if the log does not say, its last task; 0 if the log says neither. */
  public long endMs() {
    return completedMs > 0 ? completedMs : totals.lastFinishMs();
  }

  /** Whether one of its RDDs is made by Python functions. */
  public boolean python() {
    return python;
  }

  /** The RDD that it computes; -1 if the log does not say. */
  public int outputRdd() {
    return outputRdd;
  }

  /** Stages whose output it reads. */
  public List<Integer> parents() {
    return parents;
  }

  /** Its RDDs that read shuffles. */
  public List<ShuffleInput> inputs() {
    return inputs;
  }

  /** The exchange of Spark SQL that it writes for; null without one, or if the log does not say which. */
  public Exchange exchange() {
    return exchange;
  }

  /** Bytes of the SQL rows that it wrote, before compression; 0 without an exchange. */
  public long dataBytes() {
    return dataBytes;
  }

  /** Seconds in which sorts of Spark SQL sorted. */
  public double sortS() {
    return sortMs / 1e3;
  }
}
