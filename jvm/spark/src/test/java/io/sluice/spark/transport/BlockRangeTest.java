package io.sluice.spark.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BlockRangeTest {
  @Test
  void shuffleBlockIdsAreParsed() {
    String one = new ShuffleBlockId(3, 9_000_000_000L, 7).toString();
    String batch = new ShuffleBlockBatchId(3, 12, 7, 11).toString();
    assertArrayEquals(new long[] {3, 9_000_000_000L, 7, 8, 3, 12, 7, 11}, BlockRange.ofAll(new String[] {one, batch}));
    assertEquals(0, BlockRange.ofAll(new String[0]).length);
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "", "rdd_1_2", "shuffle_1_2", "shuffle_1_2_3_4_5", "shuffle_1_2_x", "shuffle_1_2_3_", "shuffle_1_2_5_5",
    "shuffle_1_2_-1", "shuffle_99999999999_2_3", "shuffleChunk_1_2_3_4", "shuffle_1_2_3.data", "shuffleMerged_a_1_2_3"
  })
  void otherBlockIdsAreRefused(String id) {
    assertNull(BlockRange.ofAll(new String[] {"shuffle_1_2_3", id}));
  }
}
