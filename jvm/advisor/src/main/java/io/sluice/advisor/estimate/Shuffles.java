package io.sluice.advisor.estimate;

import io.sluice.advisor.model.Application;
import io.sluice.advisor.model.ShuffleInput;
import io.sluice.advisor.model.Stage;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Which stage writes for which: a log numbers no shuffle in its tasks, so a shuffle is known by the RDD that its map
 * tasks compute, which the RDD behind the shuffle names as a parent.
 */
final class Shuffles {
  /** Of one RDD that are looked at; only a hostile log has more. */
  private static final int MOST_READERS = 1_000;

  private final Map<Integer, List<ShuffleInput>> inputsByParent = new HashMap<>();
  private final Map<Integer, Set<Integer>> readersByStage = new HashMap<>();

  Shuffles(Application application) {
    for (Stage stage : application.stages()) {
      if (stage.attempt() == 0) {
        stage.inputs().forEach(input -> input.parents().forEach(parent -> {
          List<ShuffleInput> inputs = inputsByParent.computeIfAbsent(parent, rdd -> new ArrayList<>(1));
          if (inputs.size() < MOST_READERS) {
            inputs.add(input);
          }
        }));
      }
      stage.parents().forEach(parent -> readersByStage.computeIfAbsent(parent, id -> new HashSet<>()).add(stage.id()));
    }
  }

  /** What reads the output of {@code stage}; empty if the log does not say. */
  List<ShuffleInput> readersOf(Stage stage) {
    return inputsByParent.getOrDefault(stage.outputRdd(), List.of());
  }

  /** Numbers of the stages that depend on {@code stage}. */
  Set<Integer> stagesBehind(Stage stage) {
    return readersByStage.getOrDefault(stage.id(), Set.of());
  }

  /** What {@code stage} writes; {@code RDD_RECORDS} unless there is a sign of SQL. */
  ShuffleKind written(Stage stage) {
    boolean sql = stage.exchange() != null || stage.dataBytes() > 0
        || readersOf(stage).stream().anyMatch(ShuffleInput::isSql);
    return sql ? ShuffleKind.SQL_ROWS : ShuffleKind.RDD_RECORDS;
  }

  /** What {@code stage} reads. */
  static ShuffleKind read(Stage stage) {
    return stage.inputs().stream().anyMatch(ShuffleInput::isSql) ? ShuffleKind.SQL_ROWS : ShuffleKind.RDD_RECORDS;
  }

  /** Partitions of the shuffle that {@code stage} writes; 0 if the log does not say. */
  long partitions(Stage stage) {
    if (stage.exchange() != null && stage.exchange().partitions() > 0) {
      return stage.exchange().partitions();
    }
    return readersOf(stage).stream().mapToLong(ShuffleInput::partitions).max().orElse(0);
  }
}
