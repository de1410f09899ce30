package io.sluice.advisor.estimate;

import io.sluice.advisor.model.Stage;
import io.sluice.advisor.model.TaskFigure;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What Sluice would save in one stage. Immutable.
 *
 * @param savedS seconds of task time by part, all positive; their sum is less than the stage's task time
 * @param savedWritingS the seconds of them that are saved by writing its shuffle; the others are saved by what is done
 *          with what it reads
 * @param savings the terms whose sum is the CPU time saved, if that is no more than a stage can save
 * @param confidence how sure that is; its doubts are those of this stage, without those of the whole log
 * @param written what it writes, if it writes a shuffle
 * @param read what it reads, if it reads one
 * @param bytesWritten shuffle bytes that Sluice would write
 * @param partitions of the shuffle that it writes; 0 if the log does not say, or without a shuffle
 * @param readers numbers of the stages that read its shuffle
 */
public record StageEstimate(Stage stage, Map<Part, Double> savedS, double savedWritingS, List<Saving> savings,
    Confidence confidence, Optional<ShuffleKind> written, Optional<ShuffleKind> read, long bytesWritten,
    long partitions, Set<Integer> readers) {

  public StageEstimate {
    savedS = savedS.isEmpty() ? Map.of() : Collections.unmodifiableMap(new EnumMap<>(savedS));
  }

  /** Seconds of task time saved, in all. */
  public double savedInAllS() {
    return savedS.values().stream().mapToDouble(Double::doubleValue).sum();
  }

  /** Seconds of task time saved by reading shuffles, and by sorting and combining what was read. */
  public double savedReadingS() {
    return Math.max(0, savedInAllS() - savedWritingS);
  }

  /** How the saving was computed, a sentence for each step; empty where nothing is saved. */
  public List<String> reasons() {
    List<String> reasons = new ArrayList<>();
    if (savedS.isEmpty()) {
      return reasons;
    }
    savings.stream().filter(saving -> saving.seconds() > 0).forEach(saving -> reasons.add(saving.text()));
    double cpu = savings.stream().mapToDouble(Saving::seconds).sum();
    double most = Costs.MOST_OF_CPU * stage.totals().cpuS();
    if (cpu > most) {
      reasons.add(String.format(Locale.ROOT, "all of these: no more than %.0f %% of the stage's CPU time = %.2f s",
          100 * Costs.MOST_OF_CPU, most));
    }
    for (Part part : List.of(Part.GC, Part.WAITING)) {
      if (savedS.containsKey(part)) {
        reasons.add(String.format(Locale.ROOT, "%s: shrinks as the CPU time%s does = %.2f s", part.title(),
            part == Part.GC ? "" : " and the bytes fetched", savedS.get(part)));
      }
    }
    return reasons;
  }

  /** Seconds that tasks would run on executors. */
  public double runS() {
    return Math.max(0, stage.totals().runS() - savedInAllS());
  }

  /** The time that the stage's tasks would take, as a part of what they took; 1 for a stage without tasks. */
  public double ratio() {
    double duration = Math.max(stage.totals().durationS(), stage.totals().runS());
    return duration <= 0 ? 1 : Math.max(0, duration - savedInAllS()) / duration;
  }

  /** Whether it writes or reads a shuffle. */
  public boolean shuffles() {
    return written.isPresent() || read.isPresent();
  }

  /** Rows in a block of the shuffle that it writes, on average; infinite if the log does not say. */
  public double rowsPerBlock() {
    double blocks = (double) partitions * stage.totals().tasks();
    return blocks > 0 ? stage.totals().sum(TaskFigure.WRITTEN_RECORDS) / blocks
        : Double.POSITIVE_INFINITY;
  }
}
