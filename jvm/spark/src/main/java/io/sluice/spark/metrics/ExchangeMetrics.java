package io.sluice.spark.metrics;

import java.io.Serializable;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.execution.metric.SQLMetric;

/**
 * The metrics of one exchange's node in a SQL plan. The driver makes them with the node; the shuffle's handle takes
 * them to the tasks, where a writer or reader adds to them once, when it ends. Spark brings them back with the task's
 * result, as it does its own metrics, so they count what Spark's do: of tasks that run again both attempts, of failed
 * tasks nothing, and the reads of an exchange that is used twice at the one node that wrote it. Any thread.
 */
public final class ExchangeMetrics implements Serializable {
  private static final long serialVersionUID = 1L;

  private final SQLMetric[] metrics;

  private ExchangeMetrics(SQLMetric[] metrics) {
    this.metrics = metrics;
  }

  /** Called on the driver. */
  public static ExchangeMetrics create(SparkContext context) {
    ExchangeMetric[] all = ExchangeMetric.values();
    SQLMetric[] metrics = new SQLMetric[all.length];
    for (int i = 0; i < all.length; i++) {
      metrics[i] = NodeMetrics.create(context, all[i].label(), all[i].type());
    }
    return new ExchangeMetrics(metrics);
  }

  public SQLMetric get(ExchangeMetric metric) {
    return metrics[metric.ordinal()];
  }

  /** In a map task, when its output is committed. */
  public synchronized void wrote(long encodeNanos, long encodedBytes) {
    add(ExchangeMetric.ENCODE_TIME, encodeNanos);
    add(ExchangeMetric.ENCODED_BYTES, encodedBytes);
  }

  /**
   * In a map task, after the last row.
   *
   * @param found rows whose partition was found without Spark's function
   * @param asked rows that were given to Spark's function
   * @param refuted 1 if it disagreed
   */
  public synchronized void placed(long found, long asked, long refuted) {
    add(ExchangeMetric.ROWS_PLACED, found);
    add(ExchangeMetric.ROWS_ASKED, asked);
    add(ExchangeMetric.REFUTED_TASKS, refuted);
  }

  /** In a reader, when it ends. */
  synchronized void read(long frames, long decodeNanos, long waitNanos) {
    add(ExchangeMetric.FRAMES_READ, frames);
    add(ExchangeMetric.DECODE_TIME, decodeNanos);
    add(ExchangeMetric.BLOCK_WAIT_TIME, waitNanos);
  }

  /** A metric to which nothing was added is sent back as well, but not counted among the tasks that have one. */
  private void add(ExchangeMetric metric, long amount) {
    if (amount != 0) {
      get(metric).add(amount);
    }
  }
}
