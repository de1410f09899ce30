package io.sluice.spark.conf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CacheLimitTest {
  private static final long MIB = 1 << 20;

  private static Settings settings(String... keysAndValues) {
    SparkConf conf = new SparkConf(false).set("spark.master", "yarn").set("spark.sluice.mode", "CACHE_ONLY");
    for (int i = 0; i < keysAndValues.length; i += 2) {
      conf.set(keysAndValues[i], keysAndValues[i + 1]);
    }
    return Settings.from(conf);
  }

  /**
   * The JVM needs 256 MiB and a sixth of the overhead, shuffles a sixth, at least 64 MiB, or what the user has set, and
   * blocks that arrive one-sidedly 144 MiB.
   */
  @ParameterizedTest
  @CsvSource({"CACHE_ONLY, 384, auto, 1g, 0", "CACHE_ONLY, 300, auto, 1g, 0", "CACHE_ONLY, 6144, auto, 1g, 1024",
    "CACHE_ONLY, 1024, auto, 1g, 426", "CACHE_ONLY, 1024, 500m, 1g, 97", "CACHE_ONLY, 1024, auto, 100m, 100",
    "UCX, 1024, auto, 1g, 282"})
  void limitIsWhatTheContainerHasLeft(String mode, String overheadMib, String memoryLimit, String hostLimit,
      long expectedMib) {
    Settings settings = settings("spark.executor.memoryOverhead", overheadMib, "spark.sluice.memory.limit", memoryLimit,
        "spark.sluice.cache.hostLimit", hostLimit, "spark.sluice.mode", mode);
    CacheLimit limit = settings.store().cacheLimit();
    assertEquals(expectedMib, limit.bytes() / MIB);
    assertEquals(!hostLimit.equals("100m") && expectedMib < 1024, limit.warning().isPresent());
    limit.warning().ifPresent(text -> assertTrue(
        text.contains("has only " + overheadMib + " MiB") && text.contains("at most " + expectedMib + " MiB"), text));
  }

  @Test
  void aTaskAloneLeavesTheCacheItsMemory() {
    assertEquals(6144 - 256 - 1024, settings("spark.executor.memoryOverhead", "6144").memory().limit().ceilingBytes()
        / MIB);
    assertEquals(6144 - 256, settings("spark.executor.memoryOverhead", "6144", "spark.sluice.store", "files").memory()
        .limit().ceilingBytes() / MIB);
  }

  @Test
  void theReportForPeopleWhoSizeContainersHasTheWarning() {
    SparkConf conf = new SparkConf(false).set("spark.master", "yarn").set("spark.sluice.mode", "CACHE_ONLY");
    assertTrue(MemoryLimitReport.of(conf).contains("WARNING: spark.sluice.cache.hostLimit = 1024 MiB"),
        MemoryLimitReport.of(conf));
    assertTrue(!MemoryLimitReport.of(conf.set("spark.sluice.store", "files")).contains("WARNING"));
    assertTrue(!MemoryLimitReport.of(conf).contains("one-sided"));
    String oneSided = MemoryLimitReport.of(conf.set("spark.sluice.transport", "auto")
        .set("spark.sluice.transport.maxMappedBytes", "96m"));
    assertTrue(oneSided.contains("received blocks") && oneSided.contains("copies of map outputs take up to 96 MiB"),
        oneSided);
  }
}
