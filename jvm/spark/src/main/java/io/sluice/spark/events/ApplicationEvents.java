package io.sluice.spark.events;

import io.sluice.spark.metrics.TaskFigures;
import java.util.function.BiConsumer;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Posts the events of an application's shuffles, on its driver. When something fails, it warns once and posts nothing
 * from then on; shuffles are not concerned. Any thread.
 */
public final class ApplicationEvents {
  private static final Logger LOG = LoggerFactory.getLogger(ApplicationEvents.class);
  private static final String SQL_EXECUTION = "spark.sql.execution.id";
  /** A queue of its own, so that no slow listener delays summaries beyond the end of the application. */
  public static final String QUEUE = "sluice";

  private final boolean wanted;
  private final BiConsumer<SparkContext, SparkListenerEvent> bus;
  private boolean failed;
  /** Null before the first shuffle. */
  private TaskFigures figures;

  /** @param wanted whether anything is posted at all */
  public ApplicationEvents(boolean wanted) {
    this(wanted, (context, event) -> context.listenerBus().post(event));
  }

  /** @param bus posts an event of an application */
  ApplicationEvents(boolean wanted, BiConsumer<SparkContext, SparkListenerEvent> bus) {
    this.wanted = wanted;
    this.bus = bus;
  }

  /**
   * Posts that a shuffle was registered.
   *
   * @param path one of the constants of {@link ShuffleRegistered}
   * @param reason the name of the reason for which it is Spark's; null if it is Sluice's
   * @param reasonText that reason in words; null likewise
   */
  public void shuffleRegistered(
      int shuffleId, ShuffleDependency<?, ?, ?> dependency, String path, String reason, String reasonText) {
    guarded(() -> {
      SparkContext context = dependency.rdd().context();
      bus.accept(context, ShuffleRegistered.of(shuffleId, path, reason, reasonText,
          dependency.partitioner().numPartitions(), execution(context)).of(dependency.rdd().id()));
    });
  }

  /** The SQL execution of this thread; {@link ShuffleRegistered#NO_EXECUTION} outside of one. */
  public static long execution(SparkContext context) {
    String id = context.getLocalProperty(SQL_EXECUTION);
    return id == null ? ShuffleRegistered.NO_EXECUTION : Long.parseLong(id);
  }

  /** What the handles of Sluice's shuffles carry to tasks, so that their counts come back; null for nothing. */
  public synchronized TaskFigures figures(ShuffleDependency<?, ?, ?> dependency) {
    if (figures == null) {
      guarded(() -> {
        SparkContext context = dependency.rdd().context();
        TaskFigures fresh = new TaskFigures();
        context.register(fresh);
        context.listenerBus().addToQueue(new SummaryListener(fresh, event -> bus.accept(context, event)), QUEUE);
        figures = fresh;
      });
    }
    return figures;
  }

  private synchronized void guarded(Runnable action) {
    if (!wanted || failed) {
      return;
    }
    try {
      action.run();
    } catch (RuntimeException | LinkageError e) {
      failed = true;
      LOG.warn("Sluice's events are not in the event log and the UI from now on, because one could not be posted; "
          + "shuffles are not concerned", e);
    }
  }
}
