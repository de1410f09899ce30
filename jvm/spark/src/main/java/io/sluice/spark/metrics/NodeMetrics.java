package io.sluice.spark.metrics;

import org.apache.spark.SparkContext;
import org.apache.spark.sql.execution.metric.SQLMetric;
import scala.Option;

/**
 * Makes metrics of nodes in SQL plans, on the driver. Spark's own factory has other parameters on some lines; the class
 * of the metrics is the same on all.
 */
public final class NodeMetrics {
  private static final String MILLIS = "timing";
  /** Kinds of values, by Spark's names for them. */
  static final String NANOS = "nsTiming";
  static final String BYTES = "size";
  static final String COUNT = "sum";

  /** Tasks that add nothing are not among those whose smallest and median value Spark shows. */
  private static final long NOTHING = -1;

  private NodeMetrics() {}

  /** A number of things, as the sum over all tasks. */
  public static SQLMetric count(SparkContext context, String label) {
    return create(context, label, COUNT);
  }

  /** Times, of which Spark shows sum, smallest, median and largest. */
  public static SQLMetric millis(SparkContext context, String label) {
    return create(context, label, MILLIS);
  }

  /** Sizes, shown likewise. */
  public static SQLMetric bytes(SparkContext context, String label) {
    return create(context, label, BYTES);
  }

  static SQLMetric create(SparkContext context, String label, String type) {
    // Spark adds up sums without looking at the sign.
    SQLMetric metric = new SQLMetric(type, type.equals(COUNT) ? 0 : NOTHING);
    metric.register(context, Option.apply(label), false);
    return metric;
  }
}
