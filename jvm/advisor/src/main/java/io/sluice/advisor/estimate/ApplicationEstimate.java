package io.sluice.advisor.estimate;

import io.sluice.advisor.model.Application;
import io.sluice.advisor.model.Job;
import io.sluice.advisor.model.TaskFigure;
import java.util.List;
import java.util.stream.Collectors;

/**
 * What Sluice would save in one application.
 *
 * @param application as its log tells it
 * @param stages an estimate for each of its stages, in their order
 * @param shuffles an estimate for each shuffle that one of them writes
 * @param timeline the wall clock that follows
 * @param confidence how sure that is
 * @param obstacles settings with which Spark would keep the shuffles; empty where Sluice would do them
 * @param onSluice whether Sluice was in force already, so that there is nothing to estimate
 */
public record ApplicationEstimate(Application application, List<StageEstimate> stages, List<ShuffleEstimate> shuffles,
    Timeline timeline, Confidence confidence, List<Obstacle> obstacles, boolean onSluice) {

  /** The estimate for {@code application}. */
  public static ApplicationEstimate of(Application application) {
    boolean onSluice = application.setting("spark.shuffle.manager", "").startsWith("io.sluice.");
    List<Obstacle> obstacles = Obstacle.of(application);
    StageEstimator estimator =
        new StageEstimator(application, Confidence.ofLog(application), onSluice || !obstacles.isEmpty());
    List<StageEstimate> stages =
        application.stages().stream().map(estimator::estimate).collect(Collectors.toList());
    return new ApplicationEstimate(application, stages, ShuffleEstimate.of(stages), new Timeline(stages),
        Confidence.of(application, stages), obstacles, onSluice);
  }

  /** Seconds from the application's start to its end, as they were. */
  public double beforeS() {
    return application.durationS();
  }

  /** … as they would be. */
  public double afterS() {
    return timeline.seconds(application.startedMs(), application.endedMs());
  }

  /** How many times as fast the application would be. */
  public double speedup() {
    return speedup(beforeS(), afterS());
  }

  /** The lowest speed-up that is likely: with a saving that is less by the confidence's spread. */
  public double lowestSpeedup() {
    double saved = (beforeS() - afterS()) * (1 - confidence.level().spread());
    return speedup(beforeS(), beforeS() - saved);
  }

  /** The highest one, with as much more. */
  public double highestSpeedup() {
    double saved = (beforeS() - afterS()) * (1 + confidence.level().spread());
    return speedup(beforeS(), Math.max(beforeS() / 20, beforeS() - saved));
  }

  /** 1 where a time is not known. */
  private static double speedup(double before, double after) {
    return before > 0 && after > 0 ? before / after : 1;
  }

  /** Seconds that a job takes with Sluice. */
  public double seconds(Job job) {
    return timeline.seconds(job.startedMs(), job.endedMs());
  }

  /** Seconds of the application in which no stage ran. */
  public double idleS() {
    return Timeline.idleSeconds(stages, application.startedMs(), application.endedMs());
  }

  /** Seconds of task time, as they were. */
  public double taskS() {
    return stages.stream().mapToDouble(stage -> stage.stage().totals().runS()).sum();
  }

  /** Seconds of task time saved, of one part or, with null, of all. */
  public double savedS(Part part) {
    return stages.stream()
        .mapToDouble(stage -> part == null ? stage.savedInAllS() : stage.savedS().getOrDefault(part, 0.0)).sum();
  }

  /** Seconds of task time in stages without any shuffle, where nothing is saved. */
  public double unshuffledS() {
    return stages.stream().filter(stage -> !stage.shuffles()).mapToDouble(stage -> stage.stage().totals().runS()).sum();
  }

  /** Shuffle bytes written, as they were. */
  public long bytesBefore() {
    return stages.stream().mapToLong(stage -> stage.stage().totals().sum(TaskFigure.WRITTEN_BYTES)).sum();
  }

  /** … as they would be. */
  public long bytesAfter() {
    return stages.stream().mapToLong(StageEstimate::bytesWritten).sum();
  }
}
