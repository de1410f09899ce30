package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.MemoryFile;
import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.store.MemoryFiles;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Jobs on a machine that gives no memory files, or some that cannot be written: their outputs are files on the disk.
 */
@Timeout(180)
class MemoryFileFaultsTest {
  /** Static, because Spark makes the manager. */
  private static volatile MemoryFiles memoryFiles;

  private LocalSpark spark;

  /** Sluice on a machine whose memory files are those of the test. */
  public static final class ManagerOnFaultyMemory extends SluiceShuffleManager {
    public ManagerOnFaultyMemory(SparkConf conf, boolean isDriver) {
      super(conf, isDriver, name -> memoryFiles.create(name));
    }
  }

  @BeforeEach
  void start() {
    spark = LocalSpark.start(Map.of(
        "spark.shuffle.manager", ManagerOnFaultyMemory.class.getName(), "spark.sluice.mode", "CACHE_ONLY",
        "spark.sql.autoBroadcastJoinThreshold", "-1"));
  }

  @AfterEach
  void everythingIsGivenBack() {
    var cache = spark.manager().executorState().cache();
    spark.close();
    cache.ifPresent(closed -> assertEquals(0, closed.usedBytes()));
    assertEquals(0, NativeCore.leasedBytes());
  }

  /** The result is stock's, and of the {@code outputs} map outputs so many went to the disk at once. */
  private void assertRefused(MemoryFiles memory, int outputs, int refused) {
    memoryFiles = memory;
    Supplier<Dataset<Row>> query = () -> spark.session().range(0, 30_000, 1, 6)
        .selectExpr("id", "md5(cast(id as string)) as t").repartition(5, functions.col("t"))
        .agg(functions.count("*"), functions.bit_xor(functions.xxhash64(functions.col("id"), functions.col("t"))));
    assertEquals(spark.onStock(query), spark.onSluice(query));
    assertEquals(outputs, spark.counter(Counter.WRITE_MAP_OUTPUTS));
    assertEquals(refused, spark.counter(Counter.CACHE_REFUSALS));
  }

  private static MemoryFile none(String name) {
    throw new NativeException(NativeCore.IO, "memfd_create: " + name + " on purpose");
  }

  @Test
  void withoutMemoryFilesOutputsGoToTheDiskAndItIsCounted() {
    assertRefused(MemoryFileFaultsTest::none, 11, 0);
    assertTrue(spark.manager().executorState().cache().isEmpty());
    assertEquals(1, spark.counter(Counter.CACHE_UNAVAILABLE));
    assertEquals(0, spark.counter(Counter.CACHE_OUTPUTS));
  }

  /** The first is the self-test's. */
  @Test
  void anOutputForWhichThereIsNoMemoryFileGoesToTheDisk() {
    AtomicInteger files = new AtomicInteger();
    assertRefused(name -> files.getAndIncrement() % 2 == 0 ? MemoryFile.create(name) : none(name), 11, 6);
    assertEquals(5, spark.counter(Counter.CACHE_OUTPUTS));
  }

  /** A sealed file takes no byte more, as memory that is short: its writer begins again on the disk. */
  @Test
  void anOutputThatCannotBeWrittenToMemoryGoesToTheDisk() {
    AtomicInteger files = new AtomicInteger();
    assertRefused(name -> {
      MemoryFile file = MemoryFile.create(name);
      if (files.getAndIncrement() % 2 == 1) {
        file.seal();
      }
      return file;
    }, 11, 6);
    assertEquals(5, spark.counter(Counter.CACHE_OUTPUTS));
  }
}
