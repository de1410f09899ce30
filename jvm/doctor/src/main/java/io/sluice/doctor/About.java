package io.sluice.doctor;

/** The text that the jar prints when it is started without a command. */
final class About {
  private About() {}

  /** @param jar its path, for lines that can be copied */
  static String text(String version, String jar) {
    return """
        Sluice %s: a drop-in accelerated shuffle for Apache Spark 3.3 to 4.2.

        Spark 4.0 and later: add to spark-submit, spark-shell, spark-sql or pyspark
          --jars %2$s \\
          --conf spark.plugins=io.sluice.spark.SluicePlugin \\
          --conf spark.shuffle.manager=io.sluice.spark.SluiceShuffleManager

        Spark 3.3 to 3.5: the jar must be at the same path on every machine
          --conf spark.driver.extraClassPath=%2$s \\
          --conf spark.executor.extraClassPath=%2$s \\
          --conf spark.plugins=io.sluice.spark.SluicePlugin \\
          --conf spark.shuffle.manager=io.sluice.spark.SluiceShuffleManager

        Does this machine have what Sluice needs?
          java -jar %2$s doctor          (--help: its options)
        Can it read another machine's memory, and how fast?
          java -jar %2$s perftest --listen, there; perftest --connect HOST, here

        Is it worth it for my jobs? From event logs of jobs that ran without Sluice:
          java -jar %2$s advise LOG…     (--help: its options)
        What did it do? From event logs of jobs that ran with it; needs SPARK_HOME:
          java -jar %2$s report LOG…     (--help: its options)
        How much memory will executors use? And a file with another shuffle's settings as Sluice's; needs SPARK_HOME:
          java -jar %2$s conf KEY=VALUE…; conf --from FILE
        """.formatted(version, jar);
  }
}
