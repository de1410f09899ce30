package io.sluice.spark.conf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MemoryLimitTest {
  private static final long MIB = 1 << 20;

  private static ProcessGrant process(boolean runsTasks, long cgroupMib, long heapMib) {
    return new ProcessGrant(runsTasks, OptionalInt.empty(), 16, OptionalInt.empty(),
        cgroupMib == 0 ? OptionalLong.empty() : OptionalLong.of(cgroupMib * MIB), heapMib * MIB, 64L << 30);
  }

  private static MemoryLimit limit(ProcessGrant process, int tasks, String set, String... keysAndValues) {
    SparkConf conf = new SparkConf(false);
    for (int i = 0; i < keysAndValues.length; i += 2) {
      conf.set(keysAndValues[i], keysAndValues[i + 1]);
    }
    return MemoryLimit.of(conf, process, new Cores(tasks, tasks, 0), SluiceSettings.MEMORY_LIMIT.parse(set), 0);
  }

  /** Heap, overhead, factor and least overhead as Spark's backends combine them. */
  @ParameterizedTest
  @CsvSource({
    "yarn, 700m, , , , 384",
    "yarn, 20g, , , , 2048",
    "yarn, 20g, 3000, , , 3000",
    "yarn, 20g, 3g, 0.5, , 3072",
    "yarn, 10g, , 0.3, , 3072",
    "yarn, 1g, , , 600m, 600",
    "k8s://h, 10g, , , , 1024",
    "k8s://h, 10g, , 0.2, , 2048"
  })
  void overheadIsComputedAsSparkDoes(String master, String heap, String overhead, String factor, String least,
      long expectedMib) {
    SparkConf conf = new SparkConf(false).set("spark.master", master).set("spark.executor.memory", heap);
    for (String[] pair : new String[][] {{"spark.executor.memoryOverhead", overhead},
      {"spark.executor.memoryOverheadFactor", factor}, {"spark.executor.minMemoryOverhead", least}}) {
      if (pair[1] != null) {
        conf.set(pair[0], pair[1]);
      }
    }
    MemoryLimit limit = MemoryLimit.of(conf, process(false, 0, 1024), new Cores(64, 64, 0), OptionalLong.empty(), 0);
    assertTrue(limit.reason().contains("of the " + expectedMib + " MiB that the container has"), limit.reason());
  }

  @Test
  void kubernetesOverheadFactorIsUsed() {
    MemoryLimit limit =
        limit(process(false, 0, 1024), 2, "auto", "spark.master", "k8s://h", "spark.executor.memory", "10g",
            "spark.kubernetes.memoryOverheadFactor", "0.4");
    assertTrue(limit.reason().contains("of the 4096 MiB"), limit.reason());
  }

  @ParameterizedTest
  @CsvSource({
    // the default container: the working minimum, which is a sixth of it
    "384, 2, 64, 128, false",
    // a sixth of the overhead
    "1200, 4, 200, 944, false",
    // never more than the cores' need
    "9000, 2, 256, 8744, false",
    // never less than 16 MiB per task, with a warning
    "384, 16, 256, 256, true"
  })
  void autoIsAShareOfTheOverhead(long overheadMib, int tasks, long bytesMib, long ceilingMib, boolean warns) {
    MemoryLimit limit =
        limit(process(false, 0, 1024), tasks, "auto", "spark.master", "yarn", "spark.executor.memoryOverhead",
            overheadMib + "m");
    assertEquals(bytesMib * MIB, limit.bytes());
    assertEquals(ceilingMib * MIB, limit.ceilingBytes());
    assertEquals(warns, limit.warning().isPresent());
  }

  @Test
  void aCgroupLimitMinusTheHeapWinsOverTheSettings() {
    MemoryLimit limit =
        limit(process(true, 1900, 700), 2, "auto", "spark.master", "yarn", "spark.executor.memoryOverhead", "9g");
    assertEquals(200 * MIB, limit.bytes());
    assertTrue(limit.describe().contains("200 MiB") && limit.describe().contains("cgroup limit 1900 MiB, heap 700 MiB"),
        limit.describe());
  }

  @Test
  void aCgroupOfTheDriverIsNotTheExecutors() {
    assertEquals(256 * MIB, limit(process(false, 900, 700), 2, "auto", "spark.master", "spark://h").bytes());
  }

  @Test
  void offHeapAndPySparkMemoryAreNotPartOfTheLimit() {
    MemoryLimit limit = limit(process(true, 3100, 700), 4, "auto", "spark.memory.offHeap.enabled", "true",
        "spark.memory.offHeap.size", "800m", "spark.executor.pyspark.memory", "400m");
    assertEquals(200 * MIB, limit.bytes());
  }

  @Test
  void withoutAContainerTheLimitFollowsTheCores() {
    MemoryLimit limit = limit(process(true, 0, 1024), 8, "auto", "spark.master", "local[8]");
    assertEquals(8 * 96 * MIB, limit.bytes());
    assertEquals((64L << 30) - 1024 * MIB, limit.ceilingBytes());
  }

  @Test
  void aLimitOfTheUserIsNotExceededAndWarnsAboveTheOverhead() {
    MemoryLimit limit =
        limit(process(false, 0, 1024), 2, "512m", "spark.master", "yarn", "spark.executor.memory", "700m");
    assertEquals(512 * MIB, limit.bytes());
    assertEquals(512 * MIB, limit.ceilingBytes());
    String warning = limit.warning().orElseThrow();
    assertTrue(
        warning.contains("512 MiB") && warning.contains("384 MiB") && warning.contains("spark.executor.memoryOverhead"),
        warning);
    assertEquals(Optional.empty(), limit(process(false, 0, 1024), 2, "300m", "spark.master", "yarn").warning());
  }
}
