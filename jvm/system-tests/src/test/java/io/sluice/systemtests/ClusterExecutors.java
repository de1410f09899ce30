package io.sluice.systemtests;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.ExecutorDecommissionInfo;
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;

/** The executors of an application as its scheduler knows them. */
final class ClusterExecutors {
  private ClusterExecutors() {}

  static List<String> ids(SparkContext context) {
    List<String> ids = new ArrayList<>();
    Iterator<String> known = backend(context).getExecutorIds().iterator();
    known.foreach(id -> ids.add(id));
    return ids;
  }

  /** Asks one executor to move its blocks away and end; it is not replaced. */
  @SuppressWarnings({"unchecked", "rawtypes"})
  static void decommission(SparkContext context, String id) {
    Tuple2[] request = {new Tuple2<>(id, new ExecutorDecommissionInfo("system test", Option.empty()))};
    backend(context).decommissionExecutors((Tuple2<String, ExecutorDecommissionInfo>[]) request, true, false);
  }

  private static CoarseGrainedSchedulerBackend backend(SparkContext context) {
    return (CoarseGrainedSchedulerBackend) context.schedulerBackend();
  }
}
