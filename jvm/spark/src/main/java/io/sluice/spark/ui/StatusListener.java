package io.sluice.spark.ui;

import io.sluice.spark.events.ExecutorFigures;
import io.sluice.spark.events.ExecutorSelfTest;
import io.sluice.spark.events.SettingsInForce;
import io.sluice.spark.events.ShuffleRegistered;
import io.sluice.spark.events.StageSummary;
import io.sluice.spark.metrics.Counter;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.util.kvstore.KVStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.Iterator;

/**
 * Writes what events tell into Spark's store, live on the driver or while a History Server replays a log. When it
 * fails, it warns once and writes nothing from then on. Used by one thread.
 */
public final class StatusListener extends SparkListener {
  private static final Logger LOG = LoggerFactory.getLogger(StatusListener.class);
  private static final String SQL_EXECUTION = "spark.sql.execution.id";
  /** Spark's metrics of a stage, for shuffles that are Spark's, and what they are shown as. */
  private static final Map<String, Counter> OF_SPARK = Map.of(
      "internal.metrics.shuffle.write.recordsWritten", Counter.WRITE_RECORDS,
      "internal.metrics.shuffle.write.bytesWritten", Counter.WRITE_BLOCK_BYTES,
      "internal.metrics.shuffle.write.writeTime", Counter.WRITE_COMMIT_NANOS);
  private static final int RETAINED_EXECUTORS = 5_000;

  private final StatusStore store;
  private final int retainedShuffles;
  private final Set<Integer> shuffles = new LinkedHashSet<>();
  private final Set<String> executors = new LinkedHashSet<>();
  /** The highest number of a shuffle that the store has forgotten. */
  private int newestForgotten = -1;
  private ApplicationRow application = ApplicationRow.empty();
  private boolean failed;

  /** @param retainedShuffles how many shuffles the store keeps */
  public StatusListener(KVStore store, int retainedShuffles) {
    this.store = new StatusStore(store);
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
      write(shuffle(registered.shuffleId()).registered(registered));
      write(application.withShuffle(registered.path(), registered.reasonText()));
    } else if (event instanceof StageSummary summary) {
      takeSummary(summary);
    } else if (event instanceof ExecutorSelfTest test) {
      write(executor(test.executorId()).tested(test));
    } else if (event instanceof ExecutorFigures figures) {
      write(executor(figures.executorId()).with(figures.figures()));
    }
  }

  private void takeSummary(StageSummary summary) {
    Map<String, Long> figures = summary.figures();
    String stage = summary.stageId() + "." + summary.stageAttempt();
    if (summary.shuffleId() > newestForgotten || store.shuffle(summary.shuffleId()) != null) {
      write(shuffle(summary.shuffleId()).plus(stage, figures));
    }
    write(application.plus(figures));
    if (figures.containsKey(Counter.WRITE_STOCK_BYTES.id())) {
      write(application.plus(Collections.singletonMap(ApplicationRow.ESTIMATED_BLOCK_BYTES,
          figures.getOrDefault(Counter.WRITE_BLOCK_BYTES.id(), 0L))));
    }
  }

  @Override
  public void onStageSubmitted(SparkListenerStageSubmitted submitted) {
    guarded(() -> {
      StageInfo stage = submitted.stageInfo();
      ShuffleRow known = written(stage);
      if (known != null) {
        write(known.writtenBy(name(stage), stage.numTasks(), execution(submitted.properties())));
      }
    });
  }

  @Override
  public void onStageCompleted(SparkListenerStageCompleted completed) {
    guarded(() -> {
      StageInfo stage = completed.stageInfo();
      ShuffleRow known = written(stage);
      if (known != null && known.isSparks()) {
        Map<String, Long> figures = ofSpark(stage);
        write(known.plus(name(stage), figures));
        write(application.plus(Collections.singletonMap(ApplicationRow.SPARK_BLOCK_BYTES,
            figures.getOrDefault(Counter.WRITE_BLOCK_BYTES.id(), 0L))));
      }
    });
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

  /** The shuffle that a stage writes, if it was registered and is not forgotten; else null. */
  private ShuffleRow written(StageInfo stage) {
    return stage.shuffleDepId().isDefined() ? store.shuffle((Integer) stage.shuffleDepId().get()) : null;
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
    if (failed) {
      return;
    }
    try {
      action.run();
    } catch (RuntimeException | LinkageError e) {
      failed = true;
      LOG.warn("The tab Sluice of Spark's UI shows nothing new from now on; the application is not concerned", e);
    }
  }
}
