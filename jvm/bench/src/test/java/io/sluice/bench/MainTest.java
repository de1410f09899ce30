package io.sluice.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** Arguments that are wrong end with status 2 and name what is wrong, before any Spark is started. */
class MainTest {

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
    "bench shuffle                       | unknown workload 'shuffle'",
    "bench                               | Missing required parameter",
    "bench sort --engines stock,fast     | unknown engine 'fast'",
    "bench sort --engines stock --potential | --potential chooses the engines itself",
    "bench sort --engines sluice-old,sluice | the engine sluice-old needs --old-jar JAR",
    "bench sort --old-jar pom.xml        | --old-jar is for the engine sluice-old",
    "bench sort --peer-jar comet=pom.xml  | --peer-jar comet is for none of the engines",
    "bench sort --peer-jar velox=pom.xml  | --peer-jar: unknown name 'velox'; known are comet, celeborn, uniffle",
    "bench sort --engines comet --peer-jar comet | --peer-jar takes NAME=PATH, not 'comet'",
    "bench sort --engines stock,celeborn  | the engine celeborn needs its servers",
    "bench sort --engines uniffle --peer-home uniffle=src | no binary distribution of uniffle",
    "bench sort --peer-home celeborn=src  | --peer-home celeborn is for none of the engines",
    "bench sort --engines comet --peer-home comet=src | --peer-home comet: it has no servers",
    "bench sort --engines gluten          | no engine is left to run",
    "bench sort --engines comet --peer-jar comet=no.jar | --peer-jar comet=no.jar: there is no such file",
    "bench sort --engines sluice-old,sluice --old-jar no.jar | --old-jar no.jar: there is no such file",
    "bench sort --conf spark.a           | --conf takes",
    "bench sort --runs 0                 | --runs must be at least 1",
    "bench sort --rows -5                | rows and partitions not negative",
    "bench tpch --scale 0               | --scale must be between",
    "bench tpch --scale tiny            | 'tiny' is not a double",
    "bench tpch-q23                     | unknown workload 'tpch-q23'",
    "bench tpcds --tables iceberg       | unknown form of tables 'iceberg'",
    "bench tpcds-q5 sort --tables cbo   | --tables cbo is for queries of TPC-DS alone",
    "bench tpcds-q14                    | unknown workload 'tpcds-q14'",
    "bench sort --master local-cluster[] | local-cluster[executors,cores]",
    "bench sort --rate 1gbit            | are for the links of --cluster",
    "bench sort --cluster 0             | --cluster takes N or N,CORES",
    "bench sort --cluster 3,x           | --cluster takes N or N,CORES",
    "bench sort --cluster 3 --master local[2] | --cluster brings its own master",
    "bench sort --cluster 3 --conf spark.cores.max=2 | leave out --conf spark.cores.max",
    "bench --class a.Job                | --class is for --potential",
    "bench sort --potential --sql pom.xml | give one of --class, --sql and names of workloads",
    "bench --potential --sql no.sql     | there is no file no.sql",
    "bench --potential --class a.Job --jar no.jar | there is no file no.jar",
    "bench sort --slow-host w1=1mbit    | are for the links of --cluster",
    "bench sort --cluster 3 --slow-host w1 | --slow-host takes a host and a value, as w3=10mbit",
    "bench sort --cluster 3 --slow-host w4=1mbit | --slow-host w4=1mbit: the cluster's workers are w1 to w3",
    "bench sort --away w1=30s           | --away is for a host of --cluster",
    "bench sort --cluster 3 --away driver=30s | --away driver=30s: the cluster's workers are w1 to w3",
    "bench sort --cluster 3 --away w1=30ms | --away takes a host and whole seconds, as w3=30s",
    "bench sort --cluster 3 --away w1=30s --check | --away is for workloads that are measured once",
    "bench cold-query --cluster 3 --away w1=30s | --away is for engines and workloads whose applications stay up",
    "bench sort --jar pom.xml           | --jar and --arg are for --class",
    "soak --profile fast                 | unknown profile 'fast'; known are cache-only, default, encrypted",
    "soak --lasting --each               | --lasting and --each exclude each other",
    "soak --samples no.csv               | no.csv: cannot be read",
    "demo --size big                     | 'big' is not a size",
    "demo --rate 1gbit                   | are for the links of --cluster",
    "demo --cluster x                    | --cluster takes N or N,CORES",
  })
  void wrongArgumentsAreNamed(String arguments, String message) {
    StringWriter output = new StringWriter();
    CommandLine commandLine = Main.commandLine().setErr(new PrintWriter(output, true));
    assertEquals(2, commandLine.execute(arguments.split(" ")));
    assertTrue(output.toString().contains(message), output.toString());
  }

  @Test
  void helpListsTheWorkloads() {
    StringWriter output = new StringWriter();
    assertEquals(0, Main.commandLine().setOut(new PrintWriter(output, true)).execute("bench", "--help"));
    for (String name : new String[] {"generate", "repartition", "sort", "join", "aggregate", "terasort-df", "terasort",
      "sort-rdd", "groupby", "pagerank", "wordcount", "distinct", "cogroup-join", "tpch-q5", "tpcds-q5",
      "repartition-to-10000", "partitions", "driver", "spill-wide-rdd", "spilling", "tpch-exchange",
      "--cluster=N[,CORES]",
      "1%. Default: none."}) {
      assertTrue(output.toString().contains(name), name);
    }
  }
}
