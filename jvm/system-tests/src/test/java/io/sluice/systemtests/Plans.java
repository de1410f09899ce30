package io.sluice.systemtests;

import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.MapOutputStatistics;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.CoalescedPartitionSpec;
import org.apache.spark.sql.execution.PartialReducerPartitionSpec;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.ShufflePartitionSpec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkPlanInfo;
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.metric.SQLMetricInfo;
import scala.collection.Iterator;
import scala.concurrent.Await;
import scala.concurrent.duration.Duration;

import org.apache.spark.sql.execution.ExplainMode$;
import org.apache.spark.sql.execution.SparkPlanInfo$;

/** The rows of a {@code Dataset} as Spark's operators see them, and its physical plan. */
final class Plans {
  private Plans() {}

  /** The class that declares it differs between Spark 3 and 4; the method's name is the same. */
  static QueryExecution queryExecution(Dataset<?> data) {
    try {
      return (QueryExecution) data.getClass().getMethod("queryExecution").invoke(data);
    } catch (NoSuchMethodException | IllegalAccessException | InvocationTargetException e) {
      throw new IllegalStateException("this Spark line hides Dataset.queryExecution", e);
    }
  }

  /**
   * Rows of the physical plan; evaluating them a second time reads the same shuffles again, without running the map
   * stages.
   */
  static JavaRDD<InternalRow> rows(Dataset<?> data) {
    return queryExecution(data).toRdd().toJavaRDD();
  }

  /** What the topmost columnar node of a plan without exchanges gives. */
  static RDD<?> batches(Dataset<?> data) {
    SparkPlan plan = data.queryExecution().executedPlan();
    while (!plan.supportsColumnar()) {
      plan = plan.children().head();
    }
    return plan.executeColumnar();
  }

  /** Runs the shuffle at the top of {@code data}'s plan alone: bytes of each partition, as the driver has them. */
  static long[] shuffleSizes(Dataset<?> data) {
    ShuffleExchangeExec exchange = (ShuffleExchangeExec) queryExecution(data).executedPlan();
    try {
      MapOutputStatistics statistics = (MapOutputStatistics) Await.result(
          exchange.sparkContext().submitMapStage(exchange.shuffleDependency()), Duration.Inf());
      return statistics.bytesByPartitionId();
    } catch (Exception e) { // Scala throws them undeclared.
      throw new IllegalStateException("the map stage failed", e);
    }
  }

  /** The plan that ran, with every adaptive stage opened, as node names in depth-first order with their depth. */
  static List<String> shape(Dataset<?> data) {
    List<String> lines = new ArrayList<>();
    visit(queryExecution(data).executedPlan(), 0, lines, false);
    return lines;
  }

  /**
   * The same without what Sluice puts into plans: its sorts have Spark's name, its inputs of exchanges are left out.
   */
  static List<String> shapeWithoutSluice(Dataset<?> data) {
    List<String> lines = new ArrayList<>();
    visit(queryExecution(data).executedPlan(), 0, lines, true);
    return lines;
  }

  private static void visit(SparkPlan plan, int depth, List<String> lines, boolean withoutSluice) {
    if (plan instanceof AdaptiveSparkPlanExec adaptive) {
      visit(adaptive.executedPlan(), depth, lines, withoutSluice);
      return;
    }
    if (plan instanceof QueryStageExec stage) {
      visit(stage.plan(), depth, lines, withoutSluice);
      return;
    }
    if (withoutSluice && plan.nodeName().equals("SluicePartitions")) {
      visit(plan.children().head(), depth, lines, true);
      return;
    }
    String label = label(plan);
    lines.add("  ".repeat(depth) + (withoutSluice && label.equals("SluiceSort") ? "Sort" : label));
    Iterator<SparkPlan> children = plan.children().iterator();
    while (children.hasNext()) {
      visit(children.next(), depth + 1, lines, withoutSluice);
    }
  }

  private static String label(SparkPlan plan) {
    if (plan instanceof AQEShuffleReadExec read) {
      return "AQEShuffleRead" + (read.isLocalRead() ? " local" : "")
          + (read.hasCoalescedPartition() ? " coalesced" : "")
          + (read.hasSkewedPartition() ? " skewed" : "") + " " + partitions(read);
    }
    return plan.nodeName();
  }

  /** The partition specs that the reduce tasks of {@code read} read, without the sizes. */
  private static List<String> partitions(AQEShuffleReadExec read) {
    List<String> specs = new ArrayList<>();
    Iterator<ShufflePartitionSpec> all = read.partitionSpecs().iterator();
    while (all.hasNext()) {
      ShufflePartitionSpec spec = all.next();
      if (spec instanceof CoalescedPartitionSpec coalesced) {
        specs.add(coalesced.startReducerIndex() + "-" + coalesced.endReducerIndex());
      } else if (spec instanceof PartialReducerPartitionSpec part) {
        specs.add(part.reducerIndex() + " of maps " + part.startMapIndex() + "-" + part.endMapIndex());
      } else {
        specs.add(spec.toString());
      }
    }
    return specs;
  }

  /** What {@code Dataset.explain} prints. */
  static String explained(Dataset<?> data, String mode) {
    return queryExecution(data).explainString(ExplainMode$.MODULE$.fromString(mode));
  }

  /** Labels of the metrics that Spark's SQL tab and event log have of each node with this name. */
  static Set<String> shownMetrics(Dataset<?> data, String node) {
    Set<String> labels = new TreeSet<>();
    collectLabels(SparkPlanInfo$.MODULE$.fromSparkPlan(queryExecution(data).executedPlan()), node, labels);
    return labels;
  }

  private static void collectLabels(SparkPlanInfo plan, String node, Set<String> labels) {
    if (plan.nodeName().equals(node)) {
      Iterator<SQLMetricInfo> metrics = plan.metrics().iterator();
      while (metrics.hasNext()) {
        labels.add(metrics.next().name());
      }
    }
    Iterator<SparkPlanInfo> children = plan.children().iterator();
    while (children.hasNext()) {
      collectLabels(children.next(), node, labels);
    }
  }

  /** Values of one SQL metric at every node that has it, in depth-first order. */
  static List<Long> metric(Dataset<?> data, String name) {
    List<Long> values = new ArrayList<>();
    collectMetric(queryExecution(data).executedPlan(), name, values);
    return values;
  }

  private static void collectMetric(SparkPlan plan, String name, List<Long> values) {
    if (plan instanceof AdaptiveSparkPlanExec adaptive) {
      collectMetric(adaptive.executedPlan(), name, values);
      return;
    }
    if (plan instanceof QueryStageExec stage) {
      collectMetric(stage.plan(), name, values);
      return;
    }
    if (plan.metrics().contains(name)) {
      values.add(plan.metrics().get(name).get().value());
    }
    Iterator<SparkPlan> children = plan.children().iterator();
    while (children.hasNext()) {
      collectMetric(children.next(), name, values);
    }
  }

  /**
   * Runs the maps of an exchange that is the whole plan.
   *
   * @return the checksum of each map task's rows, which Spark 4.1 and later keep
   */
  static List<Long> rowChecksums(Dataset<?> data) {
    ShuffleExchangeExec exchange = (ShuffleExchangeExec) queryExecution(data).executedPlan();
    shuffleSizes(data);
    MapStatus[] statuses = ((MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker()).shuffleStatuses()
        .apply(exchange.shuffleDependency().shuffleId()).mapStatuses();
    List<Long> checksums = new ArrayList<>();
    try {
      for (MapStatus status : statuses) {
        checksums.add((Long) MapStatus.class.getMethod("checksumValue").invoke(status));
      }
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this Spark line keeps no checksums of rows", e);
    }
    return checksums;
  }
}
