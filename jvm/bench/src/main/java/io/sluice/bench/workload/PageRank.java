package io.sluice.bench.workload;

import java.util.Iterator;
import java.util.stream.LongStream;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/**
 * HiBench's PageRank: an edge list made distinct and grouped, then three rounds of joining links with ranks
 * and adding up what pages give each other. A row is a page.
 *
 * <p>Contributions are rounded to multiples of 2^-24. Sums of those are exact below 2^29, so that ranks do not
 * depend on the order in which blocks arrive, and results can be compared bit by bit.
 */
public final class PageRank extends PairWorkload<Long, Double> {

  /** Fewer than elsewhere: with 64 on a small machine, tasks spend most of their time on opening streams. */
  private static final int GRAPH_PARTITIONS = 16;
  private static final int ROUNDS = 3;
  private static final double DAMPING = 0.85;
  private static final double GRID = 1 << 24;

  /** Out-degrees follow a power law: Pareto with shape 3/2 from 3 up, so 9 on average; cut off at 1,000. */
  private static final int SMALLEST_DEGREE = 3;
  private static final int LARGEST_DEGREE = 1_000;
  private static final double DEGREE_EXPONENT = -2.0 / 3;

  @Override
  protected JavaPairRDD<Long, Double> result(JavaSparkContext context, Sizing sizing) {
    int partitions = sizing.partitionsOr(GRAPH_PARTITIONS);
    long pages = sizing.rows();
    JavaPairRDD<Long, Iterable<Long>> links = GeneratedRecords.records(context, pages, sizing.maps(), page -> page)
        .flatMapToPair(page -> edges(page, pages))
        .distinct(partitions)
        .groupByKey(partitions)
        .cache();
    JavaPairRDD<Long, Double> ranks = links.mapValues(targets -> 1.0);
    for (int round = 0; round < ROUNDS; round++) {
      ranks = links.join(ranks)
          .flatMapToPair(page -> contributions(page._2()._1(), page._2()._2()))
          .reduceByKey(Double::sum, partitions)
          .mapValues(sum -> 1 - DAMPING + DAMPING * sum);
    }
    return ranks;
  }

  /** The links of {@code page}: few pages have many, and few pages are the target of many. */
  static Iterator<Tuple2<Long, Long>> edges(long page, long pages) {
    long seed = Scatter.mix(page);
    int degree = (int) Math.min(LARGEST_DEGREE,
        SMALLEST_DEGREE * StrictMath.pow(Scatter.uniform(seed), DEGREE_EXPONENT));
    return LongStream.rangeClosed(1, degree)
        .mapToObj(edge -> new Tuple2<>(page, target(Scatter.uniform(seed + edge), pages))).iterator();
  }

  /** The cube makes the density of targets fall as their number to the power of -2/3. */
  private static long target(double uniform, long pages) {
    return Math.min(pages - 1, (long) (uniform * uniform * uniform * pages));
  }

  private static Iterator<Tuple2<Long, Double>> contributions(Iterable<Long> targets, double rank) {
    long degree = 0;
    for (Iterator<Long> each = targets.iterator(); each.hasNext(); each.next()) {
      degree++;
    }
    double share = Math.rint(rank / degree * GRID) / GRID;
    Iterator<Long> target = targets.iterator();
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return target.hasNext();
      }

      @Override
      public Tuple2<Long, Double> next() {
        return new Tuple2<>(target.next(), share);
      }
    };
  }
}
