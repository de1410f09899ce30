package io.sluice.bench.soak;

import io.sluice.bench.check.Digest;
import io.sluice.bench.check.PairDigester;
import io.sluice.bench.check.RowDigester;
import io.sluice.bench.workload.Sizing;
import io.sluice.bench.workload.Workload;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/** A random program as a workload. */
public final class SoakWorkload implements Workload {

  private final SoakProgram program;

  public SoakWorkload(SoakProgram program) {
    this.program = program;
  }

  @Override
  public void run(SparkSession spark, Sizing sizing) {
    verify(spark, sizing);
  }

  @Override
  public Digest verify(SparkSession spark, Sizing sizing) {
    try (JobWishes.Obeying obeying = JobWishes.obey(spark.sparkContext(), Path.of(""),
        () -> result(spark, sizing))) {
      return result(spark, sizing);
    }
  }

  private Digest result(SparkSession spark, Sizing sizing) {
    if (program.sql()) {
      RandomQuery query = new RandomQuery(program.seed(), sizing.rows(), program.steps());
      query.settings().forEach(spark.conf()::set);
      return RowDigester.digest(spark.sql(query.text()), List.of());
    }
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    RandomRecords records = new RandomRecords(program.seed(), sizing.rows(), program.steps());
    try {
      return PairDigester.digest(RecordRunner.result(context, records), false);
    } finally {
      context.getPersistentRDDs().values().forEach(rdd -> rdd.unpersist(false));
    }
  }
}
