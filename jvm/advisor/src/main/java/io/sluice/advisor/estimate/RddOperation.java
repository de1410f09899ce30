package io.sluice.advisor.estimate;

import io.sluice.advisor.model.ShuffleInput;
import java.util.List;
import java.util.Set;

/** What an RDD operation does with the records of its shuffle, by the name of the call in the log. */
enum RddOperation {
  /** Combines in map tasks and in reduce tasks. */
  COMBINE,
  /** Gathers the values of each key in reduce tasks. */
  GROUP,
  SORT,
  /** Moves records only, or does its work above the shuffle, as {@code join} does. */
  MOVE;

  private static final Set<String> COMBINES = Set.of("reduceByKey", "distinct", "aggregateByKey", "foldByKey",
      "combineByKey", "combineByKeyWithClassTag", "countByKey", "countByValue", "treeAggregate",
      "countApproxDistinctByKey", "intersection");
  private static final Set<String> GROUPS = Set.of("groupByKey", "groupBy");
  private static final Set<String> SORTS = Set.of("sortByKey", "sortBy", "repartitionAndSortWithinPartitions");

  static RddOperation of(List<ShuffleInput> inputs) {
    for (ShuffleInput input : inputs) {
      RddOperation operation = of(input);
      if (operation != MOVE) {
        return operation;
      }
    }
    return MOVE;
  }

  private static RddOperation of(ShuffleInput input) {
    if (!input.rdd().equals("ShuffledRDD")) {
      return MOVE;
    }
    if (COMBINES.contains(input.operation())) {
      return COMBINE;
    }
    if (GROUPS.contains(input.operation())) {
      return GROUP;
    }
    return SORTS.contains(input.operation()) ? SORT : MOVE;
  }
}
