package io.sluice.spark.write;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.spark.conf.MemoryLimit;
import io.sluice.spark.conf.MemorySettings;
import io.sluice.spark.conf.PoolThreads;
import io.sluice.spark.conf.WriterSettings;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BatchSizeTest {
  private static final long MIB = 1 << 20;
  private static final MemorySettings MEMORY = memory(false);

  private static MemorySettings memory(boolean offHeap) {
    MemoryLimit limit = new MemoryLimit(256 * MIB, 256 * MIB, "a test", Optional.empty());
    return new MemorySettings(limit, 1, true, offHeap, 80 * MIB);
  }

  private static BatchSize size(int threads, OptionalLong set, int partitions) {
    return new BatchSize(new WriterSettings(PoolThreads.fixed(threads), MIB, set), MEMORY, 2, partitions);
  }

  @ParameterizedTest
  @CsvSource({
    "200, 87, 0, 17817600", // 200 partitions * 1024 rows * 87 bytes
    "1, 87, 0, 4194304",
    "2000, 87, 0, 33554432", // a quarter of 256 MiB / 2 cores
    "2000, 87, 4, 16777216", // an eighth
    "16000000, 1000000000000, 0, 33554432"
  })
  void batchGrowsWithPartitionsUpToAShareOfMemory(int partitions, long rowBytes, int threads, long expected) {
    assertEquals(expected, size(threads, OptionalLong.empty(), partitions).bytes(rowBytes));
  }

  @Test
  void batchBytesSetByHandWins() {
    assertEquals(2 * MIB, size(0, OptionalLong.of(2 * MIB), 100_000).bytes(1000));
  }

  /** As long as spark.sluice.gpu.minBatchBytes, unless there is too little memory. */
  @ParameterizedTest
  @CsvSource({"2, 4194304", "8, 4194304", "16, 2097152"})
  void shufflesOfFewPartitionsHaveTheShortestBatches(int tasks, long expected) {
    WriterSettings writer = new WriterSettings(PoolThreads.fixed(4), MIB, OptionalLong.empty());
    assertEquals(expected, BatchSize.leastBytes(writer, MEMORY, tasks));
  }

  @Test
  void batchSizeFollowsSparksOffHeapMemoryWhenEnabled() {
    assertEquals(10 * MIB,
        new BatchSize(new WriterSettings(new PoolThreads(7, 0, true), MIB, OptionalLong.empty()), memory(true), 2,
            100_000).bytes(1000));
  }
}
