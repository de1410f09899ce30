package io.sluice.spark.conf;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.OptionalInt;
import java.util.OptionalLong;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CoresTest {
  private static final String BACKEND = "org.apache.spark.executor.%s --driver-url spark://x@h:1 --executor-id 3"
      + " --hostname h --cores %d --app-id app-1 --resourceProfileId 1";

  private static ProcessGrant grant(Integer cores, int visible, Integer quota) {
    return new ProcessGrant(cores != null, cores == null ? OptionalInt.empty() : OptionalInt.of(cores), visible,
        quota == null ? OptionalInt.empty() : OptionalInt.of(quota), OptionalLong.empty(), 1 << 30, 8L << 30);
  }

  private static Cores cores(ProcessGrant grant, String... keysAndValues) {
    SparkConf conf = new SparkConf(false);
    for (int i = 0; i < keysAndValues.length; i += 2) {
      conf.set(keysAndValues[i], keysAndValues[i + 1]);
    }
    return Cores.of(conf, grant);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
    "local|1", "local[3]|3", "local[3, 4]|3", "local[*]|16", "local-cluster[2,1,1024]|1", "yarn|1", "k8s://x|1",
    "spark://x|16"
  })
  void taskCoresFollowTheMaster(String master, int expected) {
    assertEquals(expected, cores(grant(null, 16, null), "spark.master", master).tasks());
  }

  @Test
  void sparkExecutorCoresIsUsed() {
    assertEquals(5, cores(grant(null, 16, null), "spark.master", "yarn", "spark.executor.cores", "5").tasks());
  }

  /** An executor of a resource profile has other cores than the application's settings say. */
  @Test
  void theCommandLinesCoresWinOverTheSettings() {
    assertEquals(8, cores(grant(8, 64, null), "spark.master", "yarn", "spark.executor.cores", "2").tasks());
    assertEquals(4, cores(grant(8, 64, null), "spark.master", "yarn", "spark.task.cpus", "2").tasks());
  }

  @ParameterizedTest
  @CsvSource({"CoarseGrainedExecutorBackend, 4", "YarnCoarseGrainedExecutorBackend, 12"})
  void coresAreReadFromTheCommandLine(String backend, int expected) {
    assertEquals(OptionalInt.of(expected), ProcessGrant.coresOption(BACKEND.formatted(backend, expected)));
    assertEquals(OptionalInt.empty(), ProcessGrant.coresOption("org.apache.spark.deploy.SparkSubmit --cores 3"));
  }

  /** Seen cores do not count: on YARN an executor of one core sees all 64 of its node. */
  @ParameterizedTest
  @CsvSource({
    "yarn, 1, 64, , 1, 0", "yarn, 4, 64, , 1, 0", "spark://x, 4, 64, , 1, 0", "k8s://x, 2, 64, 6, 1, 4",
    "k8s://x, 4, 64, 2, 1, 0", "k8s://x, 1, 64, 40, 1, 8", "yarn, 4, 64, , 2, 2", "'local[2]', , 64, , 1, 0"
  })
  void spareCoresAreGrantedCoresWithoutATask(String master, Integer cores, int visible, Integer quota, String taskCpus,
      int spare) {
    assertEquals(spare,
        cores(grant(cores, visible, quota), "spark.master", master, "spark.task.cpus", taskCpus).spare());
  }

  /** As many as can be idle while one task runs. */
  @ParameterizedTest
  @CsvSource({
    "yarn, 1, 64, , 0", "yarn, 4, 64, , 3", "yarn, 16, 64, , 8", "k8s://x, 2, 64, 6, 5", "k8s://x, 4, 64, 2, 3",
    "'local[2]', , 64, , 1", "local, , 64, , 0", "'local[*]', , 4, , 3"
  })
  void idleCoresAreGrantedOnes(String master, Integer cores, int visible, Integer quota, int idle) {
    assertEquals(idle, cores(grant(cores, visible, quota), "spark.master", master).mostIdle());
  }
}
