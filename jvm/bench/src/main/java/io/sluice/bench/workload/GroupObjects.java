package io.sluice.bench.workload;

import java.io.Serializable;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** {@code groupByKey} of objects of a class of the job's own; each group is then looked through once. */
public final class GroupObjects extends PairWorkload<Long, Tuple2<Long, Long>> {

  private static final int PURCHASES_PER_CUSTOMER = 10;

  /** What a customer bought. */
  record Purchase(long number, String item, int cents, double rebate) implements Serializable {}

  @Override
  protected JavaPairRDD<Long, Tuple2<Long, Long>> result(JavaSparkContext context, Sizing sizing) {
    long customers = Math.max(1, sizing.rows() / PURCHASES_PER_CUSTOMER);
    return GeneratedRecords
        .pairs(context, sizing.rows(), sizing.maps(),
            row -> new Tuple2<>(Scatter.below(row, customers), purchase(row)))
        .groupByKey(sizing.partitionsOr(PARTITIONS)).mapValues(GroupObjects::totals);
  }

  private static Purchase purchase(long row) {
    return new Purchase(row, Words.drawn(~row), (int) Scatter.below(row + 1, 100_000), Scatter.uniform(row));
  }

  /** Cents and characters. */
  private static Tuple2<Long, Long> totals(Iterable<Purchase> purchases) {
    long cents = 0;
    long characters = 0;
    for (Purchase purchase : purchases) {
      cents += purchase.cents();
      characters += purchase.item().length();
    }
    return new Tuple2<>(cents, characters);
  }
}
