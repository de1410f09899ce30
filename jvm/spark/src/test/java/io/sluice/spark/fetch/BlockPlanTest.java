package io.sluice.spark.fetch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.SluiceException;
import io.sluice.spark.compat.ScalaIterators;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.Test;
import scala.Option;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;

import scala.collection.immutable.List$;

class BlockPlanTest {
  private static final BlockManagerId HERE = BlockManagerId.apply("1", "host", 1, Option.empty());
  private static final BlockManagerId NEXT_DOOR = BlockManagerId.apply("2", "host", 2, Option.empty());
  private static final BlockManagerId FAR = BlockManagerId.apply("3", "far", 3, Option.empty());

  private static BlockPlan plan(boolean batch, List<Tuple2<BlockManagerId, ?>> addressed) {
    return plan(batch, addressed, TransferSize.AS_REPORTED);
  }

  private static BlockPlan plan(boolean batch, List<Tuple2<BlockManagerId, ?>> addressed, TransferSize sizes) {
    return new BlockPlan(ScalaIterators.of(addressed.iterator()),
        address -> Set.of("1", "fallback").contains(address.executorId()), sizes, batch, true);
  }

  /** A tuple as MapOutputTracker gives it: blocks are {map, reduce}. */
  private static Tuple2<BlockManagerId, ?> at(BlockManagerId address, int[]... blocks) {
    scala.collection.immutable.List<Object> list = List$.MODULE$.empty();
    for (int i = blocks.length - 1; i >= 0; i--) {
      list = list.$colon$colon(new Tuple3<>(id(blocks[i][0], blocks[i][1]), 1000L, blocks[i][0]));
    }
    return new Tuple2<>(address, list);
  }

  private static BlockId id(int map, int reduce) {
    return new ShuffleBlockId(9, 50 + map, reduce);
  }

  private static BlockId batch(int map, int start, int end) {
    return new ShuffleBlockBatchId(9, 50 + map, start, end);
  }

  @Test
  void blocksOfThisExecutorAndOfTheFallbackStorageAreLocal() {
    BlockManagerId fallback = BlockManagerId.apply("fallback", "remote", 7337, Option.empty());
    List<Tuple2<BlockManagerId, ?>> addressed = List.of(
        at(FAR, new int[] {0, 4}), at(HERE, new int[] {1, 4}, new int[] {2, 4}),
        at(NEXT_DOOR, new int[] {3, 4}), at(fallback, new int[] {4, 4}));
    BlockPlan plan = plan(false, addressed);
    assertEquals(List.of(
        new ShuffleBlock(id(1, 4), HERE, 1), new ShuffleBlock(id(2, 4), HERE, 2),
        new ShuffleBlock(id(4, 4), fallback, 4)), plan.local());
    assertTrue(plan.hasRemote());
    Iterator<Object> remote = plan.remote();
    assertEquals(addressed.get(0), remote.next());
    assertEquals(addressed.get(2), remote.next());
    assertFalse(remote.hasNext());
  }

  /** Spark's iterator and Sluice's local blocks have partitions without rows in a batch. */
  @Test
  void batchesKnowTheirPartitionsWithRows() {
    BlockPlan plan = plan(true, List.of(
        at(FAR, new int[] {0, 100_004}, new int[] {0, 100_006}, new int[] {0, 100_007}, new int[] {0, 100_100}),
        at(HERE, new int[] {1, 4}, new int[] {1, 9})));
    ShuffleBlock remote = plan.remoteBlock(batch(0, 100_006, 100_101));
    assertArrayEquals(new int[] {100_006, 100_007, 100_100}, plan.partitionsWithRows(remote));
    assertArrayEquals(new int[] {4, 9}, plan.partitionsWithRows(plan.local().get(0)));
    assertArrayEquals(new int[] {100_006}, plan.partitionsWithRows(plan.remoteBlock(batch(0, 100_005, 100_007))));
    assertArrayEquals(new int[] {3}, plan.partitionsWithRows(new ShuffleBlock(id(0, 3), FAR, 0)));
  }

  @Test
  void remoteBlocksKeepTheirMapIndex() {
    BlockPlan plan = plan(true, List.of(
        at(FAR, new int[] {0, 4}, new int[] {0, 5}), at(NEXT_DOOR, new int[] {3, 4}), at(HERE, new int[] {1, 4})));
    assertEquals(new ShuffleBlock(batch(0, 4, 6), FAR, 0), plan.remoteBlock(batch(0, 4, 6)));
    assertEquals(new ShuffleBlock(id(3, 4), NEXT_DOOR, 3), plan.remoteBlock(id(3, 4)));
    assertThrows(SluiceException.class, () -> plan.remoteBlock(id(1, 4)));
    assertThrows(SluiceException.class, () -> plan.remoteBlock(BlockId.apply("rdd_1_2")));
  }

  @Test
  void consecutivePartitionsOfOneMapBecomeOneBatch() {
    BlockPlan plan = plan(true, List.of(at(HERE,
        new int[] {1, 4}, new int[] {1, 5}, new int[] {1, 7}, new int[] {2, 4}, new int[] {3, 6}, new int[] {3, 7})));
    assertEquals(List.of(
        new ShuffleBlock(batch(1, 4, 8), HERE, 1),
        new ShuffleBlock(batch(2, 4, 5), HERE, 2),
        new ShuffleBlock(batch(3, 6, 8), HERE, 3)), plan.local());
    assertEquals(4, plan.local().get(0).reduceId());
    assertFalse(plan.hasRemote());
  }

  /**
   * Spark's iterator counts what it has in flight by these sizes, so they are those of the blocks, not the reported
   * ones.
   */
  @Test
  void remoteBlockSizesAreScaledToTheTransferredBytes() {
    List<Tuple2<BlockManagerId, ?>> addressed = List.of(at(FAR, new int[] {0, 4}, new int[] {2, 4}));
    assertEquals(List.of(500L, 500L), sizes(plan(false, addressed, TransferSize.reportedTimes(0.5))));
    assertEquals(List.of(770L, 770L), sizes(plan(false, addressed, TransferSize.reportedTimes(0.77))));
    assertEquals(List.of(1000L, 1000L), sizes(plan(false, addressed, TransferSize.reportedTimes(1))));
    assertEquals(List.of(1L, 1L), sizes(plan(false, addressed, TransferSize.reportedTimes(0.0001))), "never empty");
  }

  private static List<Long> sizes(BlockPlan plan) {
    List<Long> sizes = new ArrayList<>();
    Iterator<?> blocks = ((scala.collection.Iterable<?>) ((Tuple2<?, ?>) plan.remote().next())._2()).iterator();
    while (blocks.hasNext()) {
      sizes.add((Long) ((Tuple3<?, ?, ?>) blocks.next())._2());
    }
    return sizes;
  }
}
