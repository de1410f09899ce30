package io.sluice.advisor.estimate;

import io.sluice.advisor.model.Application;
import io.sluice.advisor.model.Stage;
import io.sluice.advisor.model.TaskFigure;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Why the estimate of one stage is no surer, besides what holds for the whole log. */
final class StageDoubts {
  private static final double SHORT_S = 5;
  private static final double BUSY = 0.6;
  private static final double MUCH = 0.3;

  private final Application application;
  private final Stage stage;
  private final List<String> doubts = new ArrayList<>();

  private StageDoubts(Application application, Stage stage) {
    this.application = application;
    this.stage = stage;
  }

  /** Of a stage that writes and reads what is said, where {@code savings} is what the constants give. */
  static List<String> of(Application application, Stage stage, long partitions, Optional<ShuffleKind> written,
      Optional<ShuffleKind> read, List<Saving> savings) {
    StageDoubts all = new StageDoubts(application, stage);
    all.ofTasks();
    written.ifPresent(kind -> all.ofShuffle(kind, partitions));
    boolean records =
        written.filter(StageDoubts::isRecords).isPresent() || read.filter(StageDoubts::isRecords).isPresent();
    if (records && StageEstimator.hasOwnSerializer(application)) {
      all.doubts.add("A serializer of the user's writes its records; with that one nothing was measured.");
    }
    all.ofSavings(savings);
    return List.copyOf(all.doubts);
  }

  private static boolean isRecords(ShuffleKind kind) {
    return kind == ShuffleKind.RDD_RECORDS;
  }

  private void ofTasks() {
    double run = stage.totals().runS();
    double busy = stage.totals().cpuS() + stage.totals().sum(TaskFigure.GC_MS) / 1e3;
    if (run < SHORT_S) {
      doubts.add(say("Its tasks ran %.1f s in all: starting tasks and compiling take much of such a time.", run));
    }
    if (run > 0 && busy / run < BUSY) {
      doubts.add(say("Its tasks were on a processor for only %.0f %% of their time; what they waited for otherwise is "
          + "not known.", 100 * busy / run));
    }
    if (Confidence.isSkewed(stage)) {
      doubts.add("It waits for one long task; whether Sluice makes that one faster is not known.");
    }
    if (stage.totals().failed() > 0) {
      doubts.add("Some of its tasks failed; their time is in the sums.");
    }
    if (stage.python()) {
      doubts.add("Its records come from Python, in batches; such jobs were not measured.");
    }
    if (stage.totals().sum(TaskFigure.SPILLED_BYTES) > 0) {
      doubts.add("Its tasks spilled to disk; what Sluice saves or adds there is not in the estimate.");
    }
  }

  private void ofShuffle(ShuffleKind kind, long partitions) {
    if (kind == ShuffleKind.SQL_ROWS && stage.exchange() == null) {
      doubts.add("The log has no plan of the query that it belongs to: how rows get their partitions is not known.");
    }
    double blocks = (double) partitions * stage.totals().tasks();
    double rows = stage.totals().sum(TaskFigure.WRITTEN_RECORDS) / blocks;
    if (partitions == 0) {
      doubts.add("The log does not say to how many partitions it writes, so it is not known how small its blocks are.");
    } else if (rows < Costs.SMALL_BLOCK_ROWS) {
      doubts.add(say("Its blocks have %.1f rows on average, and what small blocks cost was measured with one workload.",
          rows));
    }
  }

  private void ofSavings(List<Saving> savings) {
    double all = savings.stream().mapToDouble(Saving::seconds).sum();
    double combined = savings.stream().filter(saving -> saving.part() == Part.COMBINE && saving.writes())
        .mapToDouble(Saving::seconds).sum();
    if (combined > MUCH * all) {
      doubts.add("Much of its saving is in combining records in map tasks, whose number no log has.");
    }
    if (all > Costs.MOST_OF_CPU * stage.totals().cpuS()) {
      doubts.add(say("The constants give %.1f s of %.1f s of CPU; no more than %.0f %% is taken to be saved.", all,
          stage.totals().cpuS(), 100 * Costs.MOST_OF_CPU));
    }
  }

  private static String say(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
