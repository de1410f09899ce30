package io.sluice.advisor.estimate;

import io.sluice.advisor.model.Application;
import io.sluice.advisor.model.Stage;
import io.sluice.advisor.model.TaskFigure;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/**
 * How sure an estimate is.
 *
 * @param level in one word
 * @param doubts the reasons why it is no surer, each a sentence
 */
public record Confidence(Level level, List<String> doubts) {

  /** In steps; {@link #spread} is what the saving may be off, more or less, as a part of it. */
  public enum Level {
    HIGH(0.2), FAIR(0.35), LOW(0.6);

    private final double spread;

    Level(double spread) {
      this.spread = spread;
    }

    public double spread() {
      return spread;
    }

    public String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private static final int FAIR_DOUBTS = 2;
  private static final double FEW_TASKS = 20;
  private static final double SHORT_S = 20;
  private static final double BUSY = 0.6;
  private static final double SKEW = 4;
  private static final double MUCH = 0.3;

  /**
   * How sure anything of this log is, whatever its stages did; its doubts hold for each of them.
   */
  static Confidence ofLog(Application application) {
    List<String> doubts = new ArrayList<>();
    ofLog(application, doubts);
    ofCodec(application, doubts);
    boolean foreign = isForeign(application);
    if (foreign) {
      doubts.add("The shuffles were not Spark's own.");
    }
    boolean low = foreign || !SparkVersion.of(application.sparkVersion()).isKnown();
    return new Confidence(low ? Level.LOW : level(doubts.size()), List.copyOf(doubts));
  }

  /** Of a part of what this one is about, with doubts of its own: its level counts both, its doubts are its own. */
  Confidence with(List<String> own) {
    boolean low = level == Level.LOW;
    return new Confidence(low ? Level.LOW : level(doubts.size() + own.size()), own);
  }

  private static Level level(int doubts) {
    return doubts == 0 ? Level.HIGH : doubts <= FAIR_DOUBTS ? Level.FAIR : Level.LOW;
  }

  static Confidence of(Application application, List<StageEstimate> stages) {
    List<String> doubts = new ArrayList<>();
    ofLog(application, doubts);
    List<StageEstimate> shuffling =
        stages.stream().filter(StageEstimate::shuffles).collect(Collectors.toList());
    if (!shuffling.isEmpty()) {
      ofTasks(shuffling, doubts);
      ofSettings(application, shuffling, doubts);
    }
    SparkVersion version = SparkVersion.of(application.sparkVersion());
    boolean foreign = isForeign(application);
    if (foreign) {
      doubts.add("The shuffles of this log were not Spark's own (" + application.setting("spark.shuffle.manager", "")
          + "), and the estimate is for those.");
    }
    boolean low = foreign || !version.isKnown();
    return new Confidence(low ? Level.LOW : level(doubts.size()), List.copyOf(doubts));
  }

  /** Whether another manager than Spark's own did the shuffles. */
  static boolean isForeign(Application application) {
    String manager = application.setting("spark.shuffle.manager", "sort");
    return !List.of("sort", "tungsten-sort", "org.apache.spark.shuffle.sort.SortShuffleManager").contains(manager);
  }

  private static void ofLog(Application application, List<String> doubts) {
    if (!application.health().fault().isEmpty()) {
      doubts.add("The log is not whole: " + application.health().fault() + ".");
    } else if (!application.ended()) {
      doubts.add("The log has no end of the application: it still runs, or the log was cut.");
    }
    long lost = application.health().damagedLines() + application.health().longLines();
    if (lost > 0) {
      doubts.add(lost + (lost == 1 ? " line of the log was" : " lines of the log were") + " skipped: damaged, or "
          + "too long.");
    }
    application.exceeded().forEach(limit -> doubts.add(limit.sentence()));
    SparkVersion version = SparkVersion.of(application.sparkVersion());
    if (!version.isKnown()) {
      doubts.add("The log does not say the version of Spark.");
    } else if (!version.isSupported()) {
      doubts.add("Sluice does not run on Spark " + application.sparkVersion() + "; the estimate is for 3.3 to 4.2.");
    }
  }

  private static void ofTasks(List<StageEstimate> stages, List<String> doubts) {
    double tasks = sum(stages, stage -> stage.totals().tasks());
    double run = sum(stages, stage -> stage.totals().runS());
    double busy = sum(stages, stage -> stage.totals().cpuS() + stage.totals().sum(TaskFigure.GC_MS) / 1e3);
    if (tasks < FEW_TASKS) {
      doubts.add("Few tasks take part in shuffles (" + Math.round(tasks) + ").");
    }
    if (run < SHORT_S) {
      doubts.add("The shuffling stages are short (" + Math.round(run) + " s of task time): starting tasks and "
          + "compiling take much of such a time.");
    }
    if (run > 0 && busy / run < BUSY) {
      doubts.add("Tasks were on a processor for only " + Math.round(100 * busy / run) + " % of their time; what they "
          + "waited for otherwise is not known.");
    }
    if (skewedS(stages) > MUCH * run) {
      doubts.add("Some stages wait for one long task; whether it is one of those that Sluice "
          + "makes faster is not known.");
    }
    if (stages.stream().anyMatch(estimate -> estimate.stage().totals().failed() > 0)) {
      doubts.add("Tasks failed; their time is in the sums.");
    }
  }

  private static double skewedS(List<StageEstimate> stages) {
    return stages.stream().map(StageEstimate::stage).filter(Confidence::isSkewed)
        .mapToDouble(stage -> stage.totals().runS()).sum();
  }

  /** Whether its longest task takes some times as long as a task does on average, and most of the stage's time. */
  static boolean isSkewed(Stage stage) {
    double mean = stage.totals().durationS() / Math.max(1, stage.totals().tasks());
    double wall = (stage.endMs() - stage.startMs()) / 1e3;
    return stage.totals().tasks() > 1 && stage.totals().longestS() > SKEW * mean
        && stage.totals().longestS() > wall / 2;
  }

  private static void ofSettings(Application application, List<StageEstimate> stages, List<String> doubts) {
    boolean records =
        stages.stream().anyMatch(stage -> stage.written().filter(kind -> kind == ShuffleKind.RDD_RECORDS).isPresent());
    ofCodec(application, doubts);
    if (records && StageEstimator.hasOwnSerializer(application)) {
      doubts.add("spark.serializer is neither of Spark's: it has to write every record of an RDD.");
    }
    if (stages.stream().anyMatch(estimate -> estimate.stage().python())) {
      doubts.add("Records of RDDs come from Python, in batches; such jobs were not measured.");
    }
    if (sum(stages, stage -> stage.totals().sum(TaskFigure.SPILLED_BYTES)) > 0) {
      doubts.add("Tasks spilled to disk; what Sluice saves or adds there is not in the estimate.");
    }
    double saved = stages.stream().mapToDouble(StageEstimate::savedInAllS).sum();
    double combined = stages.stream().mapToDouble(stage -> stage.savedS().getOrDefault(Part.COMBINE, 0.0)).sum();
    if (combined > MUCH * saved) {
      doubts.add("Much of the saving is in combining records in map tasks, whose number no log has.");
    }
  }

  private static void ofCodec(Application application, List<String> doubts) {
    if (!application.isSet("spark.shuffle.compress", true)) {
      doubts.add("spark.shuffle.compress is false, with which nothing was measured.");
    } else if (!Obstacle.codec(application).equals("lz4")) {
      doubts.add("The codec is " + Obstacle.codec(application) + "; the constants were measured with lz4.");
    }
  }

  private static double sum(List<StageEstimate> stages, ToDoubleFunction<Stage> figure) {
    return stages.stream().map(StageEstimate::stage).mapToDouble(figure).sum();
  }
}
