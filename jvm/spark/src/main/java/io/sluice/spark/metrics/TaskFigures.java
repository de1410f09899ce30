package io.sluice.spark.metrics;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.apache.spark.TaskContext;
import org.apache.spark.util.AccumulatorV2;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings what tasks count for their shuffles to the driver: an accumulator without a name, so Spark shows and logs
 * nothing of it, and sends it with a task's result, as it does its own metrics. A task thus sends no message of its own
 * and waits for none, and when the scheduler calls a stage complete, the driver has the figures of all its tasks.
 *
 * <p>The driver has one per application, which each shuffle's handle refers to. A task gets a copy with each dependency
 * that it deserializes; its readers and writers count in {@link #counters}, and the values are read when the task has
 * ended. Only tasks that succeed add to the driver's. Any thread.
 */
public final class TaskFigures extends AccumulatorV2<List<ShuffleFigures>, List<ShuffleFigures>> {
  private static final long serialVersionUID = 2L;
  private static final Logger LOG = LoggerFactory.getLogger(TaskFigures.class);
  private static final long NO_TASK = -1;
  /**
   * Times of more tasks are not kept: Spark drops the ends of tasks when its listeners are too slow, and then nobody
   * takes what is known of them. The oldest go first.
   */
  private static final int MOST_TIMES = 20_000;
  private static final int MOST_COLUMNS = 32;
  private static final int MOST_SAMPLED_SHUFFLES = 1_000;

  /** What has been added, or has arrived from a task. */
  private transient List<ShuffleFigures> folded = new ArrayList<>();
  /** In a task: where its readers and writers count. */
  private transient List<Counting> counting = new ArrayList<>();
  /** In a task: describes the executor. */
  private transient Supplier<ExecutorReport> reporter;
  /** On the driver: the newest of each executor that has not been taken. */
  private transient Map<String, ExecutorReport> reports = new HashMap<>();
  /** In a task: its number. */
  private transient long taskId = NO_TASK;
  /** On the driver: of tasks that have ended and have not been taken, by their number, the oldest first. */
  private transient Map<Long, TaskTimes> times = new LinkedHashMap<>();
  /** In a task: what it looked at; on the driver: what has not been taken. By shuffle. */
  private transient Map<Integer, ColumnSample> columns = new HashMap<>();

  private record Counting(int shuffleId, int stageId, int stageAttempt, Counters counters) {
    boolean isFor(int shuffle, int stage, int attempt) {
      return shuffleId == shuffle && stageId == stage && stageAttempt == attempt;
    }

    ShuffleFigures now() {
      return new ShuffleFigures(shuffleId, stageId, stageAttempt, counters.values());
    }
  }

  /**
   * In a task: where its readers and writers of a shuffle count; what they count is added to {@code ofExecutor} too.
   */
  public Counters counters(Counters ofExecutor, int shuffleId, TaskContext context) {
    inTask(context.taskAttemptId());
    return counters(ofExecutor, shuffleId, context.stageId(), context.stageAttemptNumber());
  }

  /** The same, for an attempt of a stage. */
  public synchronized Counters counters(Counters ofExecutor, int shuffleId, int stageId, int stageAttempt) {
    for (Counting known : counting) {
      if (known.isFor(shuffleId, stageId, stageAttempt)) {
        return known.counters();
      }
    }
    Counting fresh = new Counting(shuffleId, stageId, stageAttempt, new Counters(ofExecutor));
    counting.add(fresh);
    return fresh.counters();
  }

  /** In a task: sends what {@code report} says when the task has ended. */
  public synchronized void reportExecutor(Supplier<ExecutorReport> report) {
    reporter = report;
  }

  /** In a task: its number, for {@link #takeTimes}. */
  public synchronized void inTask(long number) {
    taskId = number;
  }

  /** In a task: how a frame's columns are encoded. */
  public synchronized void add(ColumnSample sample) {
    if (columns.size() < MOST_SAMPLED_SHUFFLES || columns.containsKey(sample.shuffleId())) {
      columns.merge(sample.shuffleId(), sample, (known, more) -> known.plus(more, MOST_COLUMNS));
    }
  }

  /** On the driver: takes out what is known of a task that has ended; null for nothing. */
  public synchronized TaskTimes takeTimes(long task) {
    return times.remove(task);
  }

  /** On the driver: takes out what tasks have found out about columns since the last call. */
  public synchronized List<ColumnSample> takeColumns() {
    List<ColumnSample> taken = new ArrayList<>(columns.values());
    columns.clear();
    return taken;
  }

  /** On the driver: takes out the figures that {@code wanted} accepts. */
  public synchronized List<ShuffleFigures> take(Predicate<ShuffleFigures> wanted) {
    List<ShuffleFigures> taken = new ArrayList<>();
    folded.removeIf(figures -> wanted.test(figures) && taken.add(figures));
    return taken;
  }

  /** On the driver: takes out what executors have reported since the last call. */
  public synchronized List<ExecutorReport> takeReports() {
    List<ExecutorReport> taken = new ArrayList<>(reports.values());
    reports.clear();
    return taken;
  }

  /** Spark's heartbeat may ask for a copy that is still being read. */
  private boolean isRead() {
    return folded != null && counting != null && reports != null && times != null && columns != null;
  }

  @Override
  public synchronized boolean isZero() {
    return !isRead() || folded.isEmpty() && counting.isEmpty() && reports.isEmpty() && columns.isEmpty();
  }

  @Override
  public synchronized TaskFigures copy() {
    TaskFigures copy = new TaskFigures();
    copy.folded.addAll(value());
    copy.reports.putAll(reports);
    copy.columns.putAll(columns);
    copy.taskId = taskId;
    return copy;
  }

  /** Empty, without the detour over a full copy: the driver makes one for each serialized dependency. */
  @Override
  public TaskFigures copyAndReset() {
    return new TaskFigures();
  }

  @Override
  public synchronized void reset() {
    folded.clear();
    counting.clear();
    reports.clear();
    times.clear();
    columns.clear();
  }

  @Override
  public synchronized void add(List<ShuffleFigures> more) {
    for (ShuffleFigures figures : more) {
      int at = 0;
      while (at < folded.size() && !folded.get(at).isOfSame(figures)) {
        at++;
      }
      if (at < folded.size()) {
        folded.set(at, folded.get(at).plus(figures));
      } else {
        folded.add(figures);
      }
    }
  }

  /** Called by the scheduler's thread for each task. */
  @Override
  public void merge(AccumulatorV2<List<ShuffleFigures>, List<ShuffleFigures>> other) {
    if (other instanceof TaskFigures ofTask) {
      List<ExecutorReport> theirs = ofTask.currentReports();
      List<ShuffleFigures> counted = ofTask.value();
      List<ColumnSample> samples = ofTask.samples();
      long task = ofTask.task();
      add(counted);
      synchronized (this) {
        theirs.forEach(report -> reports.put(report.executorId(), report));
        samples.forEach(this::add);
        if (task != NO_TASK) {
          times.merge(task, timesOf(task, counted), TaskFigures::plus);
          dropOldestTimes();
        }
      }
    }
  }

  private void dropOldestTimes() {
    Iterator<Long> oldest = times.keySet().iterator();
    while (times.size() > MOST_TIMES) {
      oldest.next();
      oldest.remove();
    }
  }

  private synchronized long task() {
    return taskId;
  }

  private synchronized List<ColumnSample> samples() {
    return isRead() ? new ArrayList<>(columns.values()) : List.of();
  }

  private static TaskTimes timesOf(long task, List<ShuffleFigures> counted) {
    long encode = 0;
    long decode = 0;
    for (ShuffleFigures each : counted) {
      encode += each.values()[Counter.WRITE_ENCODE_NANOS.ordinal()];
      decode += each.values()[Counter.READ_DECODE_NANOS.ordinal()];
    }
    return new TaskTimes(task, encode, decode);
  }

  /** Of the same task, which has more than one copy if it deserialized more than one dependency. */
  private static TaskTimes plus(TaskTimes one, TaskTimes other) {
    return new TaskTimes(one.taskId(), one.encodeNanos() + other.encodeNanos(),
        one.decodeNanos() + other.decodeNanos());
  }

  @Override
  public synchronized List<ShuffleFigures> value() {
    if (!isRead()) {
      return List.of();
    }
    List<ShuffleFigures> all = new ArrayList<>(folded);
    counting.forEach(each -> all.add(each.now()));
    return all;
  }

  private synchronized List<ExecutorReport> currentReports() {
    List<ExecutorReport> all = isRead() ? new ArrayList<>(reports.values()) : new ArrayList<>();
    if (reporter != null) {
      try {
        all.add(reporter.get());
      } catch (RuntimeException | LinkageError e) {
        // A task's result must not depend on it.
        LOG.warn("This executor cannot be described to the driver; the UI will not show its state", e);
        reporter = null;
      }
    }
    return all;
  }

  private void writeObject(ObjectOutputStream out) throws IOException {
    out.defaultWriteObject();
    List<ShuffleFigures> figures = value();
    out.writeInt(figures.size());
    for (ShuffleFigures each : figures) {
      SparseFigures.write(out, each);
    }
    writeEach(out, currentReports());
    out.writeLong(task());
    writeEach(out, samples());
  }

  /** Most results of tasks have none: their number alone costs less than a list does. */
  private static void writeEach(ObjectOutputStream out, Collection<? extends Serializable> objects) throws IOException {
    out.writeInt(objects.size());
    for (Serializable each : objects) {
      out.writeObject(each);
    }
  }

  private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
    in.defaultReadObject();
    folded = new ArrayList<>();
    counting = new ArrayList<>();
    reports = new HashMap<>();
    times = new LinkedHashMap<>();
    columns = new HashMap<>();
    int count = in.readInt();
    for (int i = 0; i < count; i++) {
      folded.add(SparseFigures.read(in));
    }
    for (int left = in.readInt(); left > 0; left--) {
      ExecutorReport report = (ExecutorReport) in.readObject();
      reports.put(report.executorId(), report);
    }
    taskId = in.readLong();
    for (int left = in.readInt(); left > 0; left--) {
      ColumnSample sample = (ColumnSample) in.readObject();
      columns.put(sample.shuffleId(), sample);
    }
  }
}
