package io.sluice.advisor.report;

import io.sluice.advisor.estimate.ApplicationEstimate;
import io.sluice.advisor.estimate.ShuffleEstimate;
import io.sluice.advisor.estimate.StageEstimate;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;

/**
 * All that is reported.
 *
 * @param version Sluice's
 * @param applications an estimate for each log that could be read, in the order in which they were named
 * @param problems a sentence for each file that could not be read
 */
public record AdviceReport(String version, List<ApplicationEstimate> applications, List<String> problems) {

  /** The stages worth a line, those that save the most first; at most {@code limit}. */
  static List<StageEstimate> stages(ApplicationEstimate application, int limit) {
    return application.stages().stream().filter(StageEstimate::shuffles)
        .sorted(Comparator.comparingDouble(StageEstimate::savedInAllS).reversed()
            .thenComparing(Comparator.comparingDouble((StageEstimate stage) -> stage.stage().totals().runS())
                .reversed()))
        .limit(limit).collect(Collectors.toList());
  }

  /** The shuffles that save the most, those first; at most {@code limit}. */
  static List<ShuffleEstimate> shuffles(ApplicationEstimate application, int limit) {
    return application.shuffles().stream().sorted(ShuffleEstimate.bySaving()).limit(limit)
        .collect(Collectors.toList());
  }

  /** Numbers of the stages that read a shuffle. */
  static String readers(ShuffleEstimate shuffle) {
    return shuffle.savedReadingS().keySet().stream().map(String::valueOf).collect(Collectors.joining(", "));
  }

  /** A title for an application, whatever its log says of it. */
  static String title(ApplicationEstimate estimate) {
    String name = estimate.application().name().isEmpty() ? "an application without a name"
        : estimate.application().name();
    return estimate.application().id().isEmpty() ? name : name + " (" + estimate.application().id() + ")";
  }

  /** Where it ran, in one line. */
  static String where(ApplicationEstimate estimate) {
    String version = estimate.application().sparkVersion();
    return "Spark " + (version.isEmpty() ? "of unknown version" : version) + ", "
        + Words.count(estimate.application().executors())
        + (estimate.application().executors() == 1 ? " executor, " : " executors, ")
        + Words.count(estimate.application().cores()) + (estimate.application().cores() == 1 ? " core" : " cores");
  }

  /** What a stage does with shuffles, in a few words. */
  static String does(StageEstimate stage) {
    String reads = stage.read().map(kind -> "reads " + kind.title()).orElse("");
    String writes = stage.written().map(kind -> "writes " + kind.title()).orElse("");
    if (stage.read().isPresent() && stage.written().isPresent()) {
      return stage.read().equals(stage.written()) ? "reads and " + writes : reads + ", " + writes;
    }
    return reads + writes;
  }
}
