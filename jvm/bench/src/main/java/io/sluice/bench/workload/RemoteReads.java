package io.sluice.bench.workload;

import io.sluice.bench.check.Digest;
import io.sluice.bench.check.PairDigester;
import java.util.Collections;
import java.util.List;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/**
 * Remote reads alone, inside a job: one task reads all blocks that lie on other executors, round after round, through
 * the client that reduce tasks read with, and drops them. Nothing is decoded, and the map outputs are there before. The
 * task's remote bytes are what it read, and its wait for blocks is how long that took.
 *
 * <p>With a master of one process there is no other executor, and nothing is read.
 */
public final class RemoteReads implements Workload {

  /** So many that a block has about a MiB if rows and maps are those of the command line. */
  private static final int PARTITIONS = 128;
  private static final int ROUNDS = 16;

  private JavaPairRDD<Integer, byte[]> outputs;
  private int shuffle;

  /** Makes the map outputs. */
  @Override
  public void prepare(SparkSession spark, Sizing sizing) {
    int partitions = sizing.partitionsOr(PARTITIONS);
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    outputs = GeneratedRecords.pairs(context, sizing.rows(), sizing.maps(),
        row -> new Tuple2<>((int) (row % partitions), GroupBy.value(row))).partitionBy(new HashPartitioner(partitions));
    // Ids ascend, and the job below makes the next shuffle. The RDD's dependencies, which have it, are of another type
    // in Scala 2.12 than in 2.13.
    shuffle = context.sc().newShuffleId() + 1;
    // A job on any of the partitions has all maps run.
    outputs.mapPartitions(records -> Collections.emptyIterator()).collectPartitions(new int[] {0});
  }

  @Override
  public void run(SparkSession spark, Sizing sizing) {
    int partitions = outputs.getNumPartitions();
    int read = shuffle;
    JavaSparkContext.fromSparkContext(spark.sparkContext()).parallelize(List.of(ROUNDS), 1)
        .foreach(rounds -> new RemoteBlockReader(read, partitions).read(rounds));
  }

  /** The records, as a reduce stage reads them. */
  @Override
  public Digest verify(SparkSession spark, Sizing sizing) {
    return PairDigester.digest(outputs, false);
  }
}
