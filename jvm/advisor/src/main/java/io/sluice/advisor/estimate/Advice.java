package io.sluice.advisor.estimate;

import io.sluice.advisor.model.Application;
import io.sluice.advisor.model.Stage;
import io.sluice.advisor.model.TaskFigure;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * What follows from an estimate, in sentences.
 *
 * @param verdict in one sentence, what to do
 * @param noGain what Sluice does not make faster, and why
 * @param settings to run the application on Sluice; empty where it gains nothing or is on Sluice
 * @param settingsNote how the jar gets to the executors, and what must be changed besides; may be empty
 */
public record Advice(String verdict, List<String> noGain, Map<String, String> settings, String settingsNote) {
  private static final String PLUGIN = "io.sluice.spark.SluicePlugin";
  private static final String MANAGER = "io.sluice.spark.SluiceShuffleManager";
  private static final String PLUGINS = "spark.plugins";
  private static final double WORTH_IT = 1.10;
  private static final double NOTHING = 1.02;
  /** The least part of the time for which a sentence is worth its place. */
  private static final double MENTIONED = 0.05;

  /** The advice for an application. */
  public static Advice of(ApplicationEstimate estimate) {
    if (estimate.onSluice()) {
      return new Advice("This application ran on Sluice already; there is nothing to estimate.", List.of(), Map.of(),
          "");
    }
    if (!estimate.obstacles().isEmpty()) {
      return new Advice("As it is set up, Sluice would leave every shuffle of this application to Spark: no gain.",
          obstacles(estimate), Map.of(), "");
    }
    boolean gains = estimate.speedup() >= NOTHING;
    return new Advice(verdict(estimate), noGain(estimate), gains ? settings(estimate.application()) : Map.of(),
        gains ? note(estimate.application()) : "");
  }

  private static List<String> obstacles(ApplicationEstimate estimate) {
    return estimate.obstacles().stream().map(obstacle -> obstacle.text() + " " + obstacle.next())
        .collect(Collectors.toList());
  }

  private static String verdict(ApplicationEstimate estimate) {
    SparkVersion version = SparkVersion.of(estimate.application().sparkVersion());
    if (estimate.stages().stream().noneMatch(StageEstimate::shuffles)) {
      return "This application has no shuffle: nothing to gain.";
    }
    if (version.isKnown() && !version.isSupported()) {
      return "Sluice needs Spark 3.3 to 4.2; this application ran on " + estimate.application().sparkVersion() + ".";
    }
    if (estimate.speedup() < NOTHING) {
      return "Not worth it for this application: next to none of its time is in shuffles and sorts.";
    }
    return estimate.speedup() < WORTH_IT ? "A small gain: try it if it costs you nothing."
        : "Worth trying.";
  }

  private static List<String> noGain(ApplicationEstimate estimate) {
    List<String> sentences = new ArrayList<>();
    double before = estimate.beforeS();
    double idle = estimate.idleS();
    if (before > 0 && idle > MENTIONED * before) {
      sentences.add(String.format(Locale.ROOT, "%.0f s (%.0f %%) of the application passed without any stage: the "
          + "driver plans, executors start, or the application waits. That stays.", idle, 100 * idle / before));
    }
    double tasks = estimate.taskS();
    double unshuffled = estimate.unshuffledS();
    if (tasks > 0 && unshuffled > MENTIONED * tasks) {
      sentences.add(String.format(Locale.ROOT, "%.0f s (%.0f %%) of the task time are in stages without a shuffle%s. "
          + "That stays.", unshuffled, 100 * unshuffled / tasks, longestUnshuffled(estimate)));
    }
    smallBlocks(estimate, tasks).ifPresent(sentences::add);
    skew(estimate, tasks).ifPresent(sentences::add);
    joins(estimate, tasks).ifPresent(sentences::add);
    return List.copyOf(sentences);
  }

  private static String longestUnshuffled(ApplicationEstimate estimate) {
    return estimate.stages().stream().filter(stage -> !stage.shuffles()).map(StageEstimate::stage)
        .max(Comparator.comparingDouble(stage -> stage.totals().runS()))
        .map(stage -> ", most of it in stage " + stage.id()).orElse("");
  }

  private static Optional<String> smallBlocks(ApplicationEstimate estimate, double tasks) {
    List<StageEstimate> small = estimate.stages().stream().filter(stage -> stage.written().isPresent())
        .filter(stage -> stage.rowsPerBlock() < Costs.SMALL_BLOCK_ROWS).collect(Collectors.toList());
    double time = small.stream().mapToDouble(stage -> stage.stage().totals().runS()).sum();
    return time <= MENTIONED * tasks ? Optional.empty()
        : Optional.of(String.format(Locale.ROOT, "%d stages write fewer than %.0f rows a block (map tasks times "
            + "partitions): such small blocks gain little. Fewer partitions would help both engines.", small.size(),
            Costs.SMALL_BLOCK_ROWS));
  }

  private static Optional<String> skew(ApplicationEstimate estimate, double tasks) {
    List<Stage> skewed = estimate.stages().stream().filter(StageEstimate::shuffles).map(StageEstimate::stage)
        .filter(Confidence::isSkewed).collect(Collectors.toList());
    double time = skewed.stream().mapToDouble(stage -> stage.totals().runS()).sum();
    return time <= MENTIONED * tasks ? Optional.empty()
        : Optional.of("Stage " + skewed.stream().limit(5).map(stage -> Integer.toString(stage.id()))
            .collect(Collectors.joining(", ")) + (skewed.size() > 5 ? ", …" : "")
            + ": one task takes much longer than the others. Sluice does not split it.");
  }

  private static Optional<String> joins(ApplicationEstimate estimate, double tasks) {
    double time = estimate.stages().stream().map(StageEstimate::stage)
        .filter(stage -> stage.inputs().stream().anyMatch(input -> input.rdd().equals("CoGroupedRDD")))
        .mapToDouble(stage -> stage.totals().runS()).sum();
    return time <= MENTIONED * tasks ? Optional.empty()
        : Optional.of("Joins and cogroups of RDDs combine records above the shuffle: that part stays Spark's.");
  }

  private static Map<String, String> settings(Application application) {
    Map<String, String> settings = new LinkedHashMap<>();
    String plugins = application.setting(PLUGINS, "");
    settings.put(PLUGINS, plugins.isEmpty() ? PLUGIN : plugins + "," + PLUGIN);
    settings.put("spark.shuffle.manager", MANAGER);
    return settings;
  }

  private static String note(Application application) {
    SparkVersion version = SparkVersion.of(application.sparkVersion());
    String jar = !version.isKnown() ? "" : version.isAtLeast(4, 0) ? "Add the jar with --jars. "
        : "Put the jar at the same path on driver and executors, and name it in spark.driver.extraClassPath and "
            + "spark.executor.extraClassPath. ";
    boolean spills = application.stages().stream().anyMatch(stage -> stage.totals().sum(TaskFigure.SPILLED_BYTES) > 0);
    return (jar + (spills ? "Tasks spilled: a larger spark.executor.memoryOverhead gives Sluice more memory. " : ""))
        .trim();
  }
}
