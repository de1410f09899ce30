package io.sluice.spark.ui;

import io.sluice.spark.events.ExecutorFallbacks;
import io.sluice.spark.events.ExecutorFigures;
import io.sluice.spark.events.ExecutorLatencies;
import io.sluice.spark.events.ExecutorPeers;
import io.sluice.spark.events.ExecutorSelfTest;
import io.sluice.spark.events.PlanNodesLeft;
import io.sluice.spark.events.SettingsInForce;
import io.sluice.spark.events.ShuffleColumns;
import io.sluice.spark.events.ShuffleRegistered;
import io.sluice.spark.events.StageSummary;
import io.sluice.spark.events.StageTasks;
import io.sluice.spark.metrics.Counter;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.util.kvstore.KVStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.Iterator;

/**
 * Writes what events tell into Spark's store, live on the driver or while a History Server replays a log. An event that
 * it cannot take, as one of a damaged log, is left out, and the first one is logged; after many of them it writes
 * nothing any more. Used by one thread.
 */
public final class StatusListener extends SparkListener {
  private static final Logger LOG = LoggerFactory.getLogger(StatusListener.class);
  private static final String SQL_EXECUTION = "spark.sql.execution.id";
  /** Spark's metrics of a stage, for shuffles that Spark's writers write, and what they are shown as. */
  private static final Map<String, Counter> OF_SPARK = Map.of(
      "internal.metrics.shuffle.write.recordsWritten", Counter.WRITE_RECORDS,
      "internal.metrics.shuffle.write.bytesWritten", Counter.WRITE_BLOCK_BYTES,
      "internal.metrics.shuffle.write.writeTime", Counter.WRITE_COMMIT_NANOS);
  private static final int RETAINED_EXECUTORS = 5_000;
  private static final String MAP_TASK = "ShuffleMapTask";
  private static final int MOST_FAILURES = 1_000;

  private final StatusStore store;
  private final int retainedShuffles;
  private final Set<Integer> shuffles = new LinkedHashSet<>();
  private final Set<String> executors = new LinkedHashSet<>();
  private final Timelines timelines;
  private final StageLinks links = new StageLinks();
  /** Of stages that run, by name: the shuffle that they write. */
  private final Map<String, Integer> writers = new HashMap<>();
  /** Of stages without an ended task: the shuffle that they write if their tasks are map tasks. */
  private final Map<String, Writer> candidates = new HashMap<>();
  /** The highest number of a shuffle that the store has forgotten. */
  private int newestForgotten = -1;
  private ApplicationRow application = ApplicationRow.empty();
  private int failures;

  /** @param shuffleId null for none */
  private record Writer(Integer shuffleId, int tasks, long execution) {}

  /** @param retainedShuffles how many shuffles the store keeps */
  public StatusListener(KVStore store, int retainedShuffles) {
    this.store = new StatusStore(store);
    this.timelines = new Timelines(this.store, System::nanoTime);
    this.retainedShuffles = retainedShuffles;
  }

  @Override
  public void onOtherEvent(SparkListenerEvent event) {
    guarded(() -> take(event));
  }

  private void take(SparkListenerEvent event) {
    if (event instanceof SettingsInForce settings) {
      write(application.with(settings));
    } else if (event instanceof ShuffleRegistered registered) {
      links.registered(registered);
      write(shuffle(registered.shuffleId()).registered(registered));
      write(application.withShuffle(registered.path(), registered.reasonText()));
    } else if (event instanceof StageSummary summary) {
      takeSummary(summary);
    } else if (event instanceof ExecutorSelfTest test) {
      write(executor(test.executorId()).tested(test));
    } else if (event instanceof ExecutorFigures figures) {
      write(executor(figures.executorId()).with(figures.figures()));
    } else {
      takeDetail(event);
    }
  }

  private void takeDetail(SparkListenerEvent event) {
    if (event instanceof ExecutorLatencies latencies) {
      write(executor(latencies.executorId()).with(latencies));
    } else if (event instanceof ExecutorPeers peers) {
      write(executor(peers.executorId()).with(peers));
    } else if (event instanceof ExecutorFallbacks fallbacks) {
      write(executor(fallbacks.executorId()).with(fallbacks));
    } else if (event instanceof PlanNodesLeft nodes) {
      write(application.with(nodes));
    } else if (event instanceof ShuffleColumns columns && isRemembered(columns.shuffleId())) {
      write(shuffle(columns.shuffleId()).plus(columns));
    } else if (event instanceof StageTasks tasks) {
      timelines.add(tasks);
    }
  }

  private boolean isRemembered(int shuffleId) {
    return shuffleId > newestForgotten || store.shuffle(shuffleId) != null;
  }

  private void takeSummary(StageSummary summary) {
    Map<String, Long> figures = summary.figures();
    String stage = summary.stageId() + "." + summary.stageAttempt();
    if (isRemembered(summary.shuffleId())) {
      write(shuffle(summary.shuffleId()).plus(stage, figures));
    }
    write(application.plus(figures));
    if (figures.containsKey(Counter.WRITE_STOCK_BYTES.id())) {
      write(application.plus(Collections.singletonMap(ApplicationRow.ESTIMATED_BLOCK_BYTES,
          figures.getOrDefault(Counter.WRITE_BLOCK_BYTES.id(), 0L))));
    }
  }

  @Override
  public void onJobStart(SparkListenerJobStart job) {
    guarded(() -> links.started(job));
  }

  @Override
  public void onStageSubmitted(SparkListenerStageSubmitted submitted) {
    guarded(() -> {
      StageInfo stage = submitted.stageInfo();
      String name = name(stage);
      Writer writer = new Writer(remembered(links.writes(stage)), stage.numTasks(), execution(submitted.properties()));
      Writer candidate = new Writer(remembered(links.mayWrite(stage)), writer.tasks(), writer.execution());
      boolean reads = noteReaders(stage);
      if (writer.shuffleId() != null) {
        timelines.begin(name, stage, writer.shuffleId());
        noteWriter(name, writer);
      } else if (candidate.shuffleId() != null || reads) {
        timelines.begin(name, stage, StageTimeline.NONE);
        candidates.put(name, candidate);
      }
    });
  }

  /** The shuffle, if the store has it; else null. */
  private Integer remembered(Integer shuffleId) {
    return shuffleId == null || store.shuffle(shuffleId) == null ? null : shuffleId;
  }

  /** Whether the stage reads a shuffle that is remembered. */
  private boolean noteReaders(StageInfo stage) {
    boolean reads = false;
    for (Integer shuffleId : links.reads(stage)) {
      ShuffleRow read = store.shuffle(shuffleId);
      if (read != null) {
        write(read.readBy(name(stage)));
        reads = true;
      }
    }
    return reads;
  }

  private void noteWriter(String stage, Writer writer) {
    writers.put(stage, writer.shuffleId());
    ShuffleRow known = store.shuffle(writer.shuffleId());
    if (known != null) {
      write(known.writtenBy(stage, writer.tasks(), writer.execution()));
    }
  }

  @Override
  public void onTaskEnd(SparkListenerTaskEnd end) {
    guarded(() -> {
      String stage = end.stageId() + "." + end.stageAttemptId();
      Writer candidate = candidates.remove(stage);
      if (candidate != null && candidate.shuffleId() != null && MAP_TASK.equals(end.taskType())) {
        timelines.writes(stage, candidate.shuffleId());
        noteWriter(stage, candidate);
      }
      timelines.taskEnded(stage, end);
    });
  }

  @Override
  public void onStageCompleted(SparkListenerStageCompleted completed) {
    guarded(() -> {
      StageInfo stage = completed.stageInfo();
      timelines.complete(name(stage));
      candidates.remove(name(stage));
      Integer shuffleId = writers.remove(name(stage));
      ShuffleRow known = shuffleId == null ? null : store.shuffle(shuffleId);
      if (known != null && known.isWrittenBySpark()) {
        Map<String, Long> figures = ofSpark(stage);
        write(known.plus(name(stage), figures));
        write(application.plus(Collections.singletonMap(ApplicationRow.SPARK_BLOCK_BYTES,
            figures.getOrDefault(Counter.WRITE_BLOCK_BYTES.id(), 0L))));
      }
    });
  }

  @Override
  public void onApplicationEnd(SparkListenerApplicationEnd end) {
    guarded(timelines::end);
  }

  @Override
  public void onExecutorRemoved(SparkListenerExecutorRemoved removed) {
    guarded(() -> {
      ExecutorRow known = store.executor(removed.executorId());
      if (known != null) {
        write(known.gone());
      }
    });
  }

  private static String name(StageInfo stage) {
    return stage.stageId() + "." + stage.attemptNumber();
  }

  private static long execution(Properties properties) {
    String id = properties == null ? null : properties.getProperty(SQL_EXECUTION);
    return id == null ? ShuffleRegistered.NO_EXECUTION : Long.parseLong(id);
  }

  private static Map<String, Long> ofSpark(StageInfo stage) {
    Map<String, Long> figures = new TreeMap<>();
    Iterator<AccumulableInfo> all = stage.accumulables().valuesIterator();
    while (all.hasNext()) {
      AccumulableInfo each = all.next();
      Counter counter = each.name().isDefined() ? OF_SPARK.get(each.name().get()) : null;
      if (counter != null && each.value().isDefined() && each.value().get() instanceof Number value) {
        figures.put(counter.id(), value.longValue());
      }
    }
    return figures;
  }

  private ShuffleRow shuffle(int shuffleId) {
    ShuffleRow known = store.shuffle(shuffleId);
    return known == null ? ShuffleRow.unknown(shuffleId) : known;
  }

  private ExecutorRow executor(String executorId) {
    ExecutorRow known = store.executor(executorId);
    return known == null ? ExecutorRow.unknown(executorId) : known;
  }

  private void write(ApplicationRow row) {
    application = row;
    store.write(row);
  }

  private void write(ShuffleRow row) {
    store.write(row);
    shuffles.add(row.shuffleId());
    while (shuffles.size() > retainedShuffles) {
      newestForgotten = Math.max(newestForgotten, forgetOldest(shuffles, ShuffleRow.class));
    }
  }

  private void write(ExecutorRow row) {
    store.write(row);
    executors.add(row.executorId());
    while (executors.size() > RETAINED_EXECUTORS) {
      forgetOldest(executors, ExecutorRow.class);
    }
  }

  private <K> K forgetOldest(Set<K> keys, Class<?> type) {
    K oldest = keys.iterator().next();
    store.delete(type, oldest);
    keys.remove(oldest);
    return oldest;
  }

  private void guarded(Runnable action) {
    if (failures >= MOST_FAILURES) {
      return;
    }
    try {
      action.run();
    } catch (RuntimeException | LinkageError e) {
      failures++;
      if (failures == 1) {
        LOG.warn(
            "An event is left out of the tab Sluice of Spark's UI (said once; after {} of them the tab shows nothing "
                + "new); the application is not concerned",
            MOST_FAILURES, e);
      }
    }
  }
}
