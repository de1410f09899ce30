package io.sluice.spark.ui;

import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.storage.RDDInfo;
import org.apache.spark.storage.StorageLevel;
import scala.Option;
import scala.collection.immutable.$colon$colon;
import scala.collection.immutable.List;

import org.apache.spark.Resubmitted$;
import org.apache.spark.Success$;
import org.apache.spark.TaskResultLost$;
import org.apache.spark.TaskState$;
import org.apache.spark.scheduler.TaskLocality$;
import scala.collection.immutable.Nil$;

/** Makes Spark's events of jobs, stages and tasks. */
final class TestStages {
  /** When every stage is submitted. */
  static final long SUBMITTED = 1_700_000_000_000L;

  private final SparkListener listener;
  private String type = "ShuffleMapTask";

  TestStages(SparkListener listener) {
    this.listener = listener;
  }

  /** @param writes the shuffle that the stage writes; -1 for none */
  @SuppressWarnings({"unchecked", "rawtypes"}) // Nil is a list of anything.
  static StageInfo stage(int id, int tasks, int writes, Integer... parents) {
    StageInfo stage = new StageInfo(id, 0, "stage", tasks, (List) Nil$.MODULE$, (List) list(parents), "", null,
        (List) Nil$.MODULE$, writes < 0 ? Option.empty() : (Option) Option.apply(writes),
        ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID(), false, 0);
    stage.submissionTime_$eq((Option) Option.apply(SUBMITTED));
    return stage;
  }

  /** A stage as Spark's event log has it: with its RDD, and without the shuffle that it writes. */
  @SuppressWarnings({"unchecked", "rawtypes"})
  static StageInfo logged(int id, int tasks, int rdd, Integer... parents) {
    RDDInfo info = new RDDInfo(rdd, "rdd", tasks, StorageLevel.NONE(), false, (List) Nil$.MODULE$, "", Option.empty(),
        null);
    StageInfo stage = new StageInfo(id, 0, "stage", tasks, (List) list(info), (List) list(parents), "", null,
        (List) Nil$.MODULE$, Option.empty(), ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID(), false, 0);
    stage.submissionTime_$eq((Option) Option.apply(SUBMITTED));
    return stage;
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static <T> List<T> list(T... elements) {
    List<T> list = (List) Nil$.MODULE$;
    for (int i = elements.length - 1; i >= 0; i--) {
      list = new $colon$colon<>(elements[i], list);
    }
    return list;
  }

  /** What tasks that end from now on are. */
  void tasksAre(String tasks) {
    type = tasks;
  }

  void startJob(StageInfo... stages) {
    listener.onJobStart(new SparkListenerJobStart(0, SUBMITTED, list(stages), new Properties()));
  }

  void submit(StageInfo stage) {
    listener.onStageSubmitted(new SparkListenerStageSubmitted(stage, new Properties()));
  }

  void complete(StageInfo stage) {
    listener.onStageCompleted(new SparkListenerStageCompleted(stage));
  }

  /** A task that began {@code start} ms after its stage, and ended {@code millis} later. */
  void endTask(int stageId, long taskId, String executorId, long start, long millis, boolean succeeds) {
    TaskInfo info = new TaskInfo(taskId, (int) taskId, 0, (int) taskId, SUBMITTED + start, executorId, "host",
        TaskLocality$.MODULE$.ANY(), false);
    info.markFinished(succeeds ? TaskState$.MODULE$.FINISHED() : TaskState$.MODULE$.FAILED(), SUBMITTED);
    // As Spark reads it from an event log, whatever it is.
    info.finishTime_$eq(SUBMITTED + start + millis);
    TaskMetrics metrics = new TaskMetrics();
    metrics.shuffleReadMetrics().incFetchWaitTime(millis / 4);
    metrics.shuffleWriteMetrics().incWriteTime(TimeUnit.MILLISECONDS.toNanos(millis / 5));
    listener.onTaskEnd(new SparkListenerTaskEnd(stageId, 0, type,
        succeeds ? Success$.MODULE$ : TaskResultLost$.MODULE$, info, null, metrics));
  }

  /** Spark reports a task that succeeded once more, because its executor was lost with its output. */
  void resubmit(int stageId, long taskId) {
    TaskInfo info = new TaskInfo(taskId, (int) taskId, 0, (int) taskId, SUBMITTED, "1", "host",
        TaskLocality$.MODULE$.ANY(), false);
    info.markFinished(TaskState$.MODULE$.FINISHED(), SUBMITTED + 10);
    listener.onTaskEnd(new SparkListenerTaskEnd(stageId, 0, type, Resubmitted$.MODULE$, info, null, new TaskMetrics()));
  }

  /** A stage with tasks that follow each other on {@code executors} executors. */
  void run(StageInfo stage, long firstTask, int executors) {
    submit(stage);
    for (int i = 0; i < stage.numTasks(); i++) {
      endTask(stage.stageId(), firstTask + i, Integer.toString(i % executors), 10L * (i / executors), 10 + i % 7, true);
    }
    complete(stage);
  }
}
