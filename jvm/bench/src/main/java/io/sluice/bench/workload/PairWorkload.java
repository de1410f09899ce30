package io.sluice.bench.workload;

import io.sluice.bench.check.Digest;
import io.sluice.bench.check.PairDigester;
import java.util.Iterator;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/** A workload that is an RDD job: timed by taking every record on the executors, verified record by record. */
public abstract class PairWorkload<K, V> implements Workload {

  /** Reduce partitions unless the user says otherwise; the same number as for queries. */
  protected static final int PARTITIONS = 64;

  /** The job's result, not yet computed. What it caches is dropped when the job is over. */
  protected abstract JavaPairRDD<K, V> result(JavaSparkContext context, Sizing sizing);

  /** Whether the result must be in ascending order of keys, within partitions and across them. */
  protected boolean sorted() {
    return false;
  }

  @Override
  public final void run(SparkSession spark, Sizing sizing) {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    result(context, sizing).foreachPartition(PairWorkload::drain);
    dropCached(context);
  }

  @Override
  public final Digest verify(SparkSession spark, Sizing sizing) {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    Digest digest = PairDigester.digest(result(context, sizing), sorted());
    dropCached(context);
    return digest;
  }

  /** Consumes every record. A null record would be an error of the engine. */
  private static <T extends Tuple2<?, ?>> void drain(Iterator<T> records) {
    while (records.hasNext()) {
      if (records.next() == null) {
        throw new IllegalStateException("the engine delivered a record that is null");
      }
    }
  }

  /** Without waiting: executors drop blocks later. */
  private static void dropCached(JavaSparkContext context) {
    context.getPersistentRDDs().values().forEach(rdd -> rdd.unpersist(false));
  }
}
