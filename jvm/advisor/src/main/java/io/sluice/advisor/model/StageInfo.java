package io.sluice.advisor.model;

import java.util.ArrayList;
import java.util.List;

/**
 * What one event says of a stage, as it is read field by field; forgotten once its {@link Stage} has it. Fields that
 * the event does not have keep the values below.
 */
public final class StageInfo {
  public int id = -1;
  public int attempt;
  public String name = "";
  public long tasks;
  public long submittedMs;
  public long completedMs;
  public boolean python;
  /** Number of the RDD that the stage computes. */
  public int outputRdd = -1;
  public final List<Integer> parents = new ArrayList<>();
  public final List<ShuffleInput> inputs = new ArrayList<>();
  public final List<SqlMetric> metrics = new ArrayList<>();

  /** Parents of the stage and of its inputs, with a place for each input. */
  int parentsInAll() {
    return parentsInAll(parents, inputs);
  }

  static int parentsInAll(List<Integer> parents, List<ShuffleInput> inputs) {
    return parents.size() + inputs.stream().mapToInt(input -> 1 + input.parents().size()).sum();
  }
}
