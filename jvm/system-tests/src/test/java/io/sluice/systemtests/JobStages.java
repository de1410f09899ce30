package io.sluice.systemtests;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.StageInfo;
import scala.collection.Iterator;

/**
 * Which stages the jobs of an application have run, and which they have skipped because the map outputs were there.
 * Thread-safe.
 */
final class JobStages extends SparkListener {
  private final List<StageInfo> stages = new ArrayList<>();
  /** Tasks of all attempts, by the stage's id. */
  private final Map<Integer, Integer> tasks = new HashMap<>();

  @Override
  public synchronized void onJobStart(SparkListenerJobStart event) {
    Iterator<StageInfo> ofJob = event.stageInfos().iterator();
    while (ofJob.hasNext()) {
      stages.add(ofJob.next());
    }
  }

  @Override
  public synchronized void onStageSubmitted(SparkListenerStageSubmitted event) {
    tasks.merge(event.stageInfo().stageId(), event.stageInfo().numTasks(), Integer::sum);
  }

  /**
   * Returns a line for each stage of each job since the last call. The lines are sorted, because adaptive execution
   * starts jobs in any order.
   */
  synchronized List<String> takeLines() {
    List<String> lines = new ArrayList<>();
    for (StageInfo stage : stages) {
      String kind = stage.shuffleDepId().isDefined() ? "map stage" : "result stage";
      int ran = tasks.getOrDefault(stage.stageId(), 0);
      lines.add(kind + " of " + stage.numTasks() + " tasks: " + (ran == 0 ? "skipped" : ran + " ran"));
    }
    stages.clear();
    tasks.clear();
    lines.sort(null);
    return lines;
  }
}
