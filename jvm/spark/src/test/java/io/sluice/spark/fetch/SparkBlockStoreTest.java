package io.sluice.spark.fetch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.LocalSpark;
import io.sluice.spark.compat.FetchSettings;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.Map;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.sql.functions;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import scala.Option;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterable;

// A thread of its own ends with each test, and with it the scratch memory of its native decoder.
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class SparkBlockStoreTest {
  private static LocalSpark spark;
  private static BlockManager blocks;

  /** A block of a real map output of this process. */
  private static ShuffleBlock block;

  @BeforeAll
  static void start() {
    spark = LocalSpark.start(Map.of());
    blocks = SparkEnv.get().blockManager();
    spark.session().range(0, 1000, 1, 1).toDF("id").repartition(2, functions.col("id")).javaRDD().count();
    Tuple2<?, ?> addressed = (Tuple2<?, ?>) SparkEnv.get().mapOutputTracker()
        .getMapSizesByExecutorId(0, 0, Integer.MAX_VALUE, 1, 2).next();
    Tuple3<?, ?, ?> first = (Tuple3<?, ?, ?>) ((Iterable<?>) addressed._2()).iterator().next();
    block = new ShuffleBlock((ShuffleBlockId) first._1(), (BlockManagerId) addressed._1(), 0);
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  private final SparkBlockStore store = new SparkBlockStore(blocks, FetchSettings.of(SparkEnv.get().conf()));

  private static BlockManagerId at(String executorId, String host, int port) {
    return BlockManagerId.apply(executorId, host, port, Option.empty());
  }

  @Test
  void readsItsOwnBlocksAndThoseOfDecommissionedExecutors() throws IOException {
    assertTrue(store.reads(blocks.blockManagerId()));
    assertTrue(store.reads(at("fallback", "remote", 7337)));
    assertFalse(store.reads(at("77", blocks.blockManagerId().host(), 7337)), "its directories are not known");
    assertFalse(store.reads(at("77", "far", 7337)));
    assertTrue(store.find(block).size() > 0);
  }

  /** As Spark's fetch iterator decides it: their blocks do not come through the client that counts them. */
  @Test
  void hostLocalBlocksAreReadWithoutTheNetworkClient() {
    assertTrue(store.sparkOpensFiles(blocks.blockManagerId()));
    assertTrue(store.sparkOpensFiles(at("77", blocks.blockManagerId().host(), 7337)));
    assertFalse(store.sparkOpensFiles(at("77", "far", 7337)));
  }

  @Test
  void theChecksumFileTellsDiskFromNetworkCorruption() throws IOException {
    FileSegmentManagedBuffer data = (FileSegmentManagedBuffer) store.find(block);
    assertEquals("Block " + block.id() + " is corrupted but checksum verification passed", store.diagnose(block));
    try (RandomAccessFile file = new RandomAccessFile(data.getFile(), "rw")) {
      file.seek(data.getOffset() + 40);
      int old = file.read();
      file.seek(data.getOffset() + 40);
      file.write(old ^ 1);
      assertEquals("Block " + block.id() + " is corrupted due to DISK_ISSUE", store.diagnose(block));
      file.seek(data.getOffset() + 40);
      file.write(old);
    }
  }

  @Test
  void batchesAndMissingBlocksHaveNoCorruptionDiagnosis() {
    ShuffleBlock batch = new ShuffleBlock(
        new ShuffleBlockBatchId(block.shuffleId(), block.mapId(), 0, 2), block.address(), 0);
    assertNull(store.diagnose(batch));
    ShuffleBlock missing = new ShuffleBlock(new ShuffleBlockId(9999, 1, 0), block.address(), 0);
    assertNull(store.diagnose(missing));
    assertThrows(IOException.class, () -> store.find(missing));
  }
}
