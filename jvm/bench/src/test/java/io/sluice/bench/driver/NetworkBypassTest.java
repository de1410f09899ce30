package io.sluice.bench.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.bench.driver.NetworkBypass.Located;
import java.util.List;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.Test;
import scala.Option;

class NetworkBypassTest {

  private static final BlockManagerId HERE = BlockManagerId.apply("1", "host", 1000, Option.empty());
  private static final BlockManagerId THERE = BlockManagerId.apply("2", "host", 2000, Option.empty());

  @Test
  void remoteBlocksAreReplacedByLocalOnesInTurn() {
    List<Located> blocks = List.of(block(THERE, 10, 0), block(HERE, 11, 1), block(THERE, 12, 2), block(HERE, 13, 3),
        block(THERE, 14, 4));
    assertEquals(List.of(block(HERE, 11, 1), block(HERE, 13, 3), block(HERE, 11, 0), block(HERE, 13, 2),
        block(HERE, 11, 4)), NetworkBypass.withoutNetwork(blocks, HERE));
  }

  @Test
  void withoutALocalBlockNothingChanges() {
    List<Located> blocks = List.of(block(THERE, 10, 0), block(THERE, 11, 1));
    assertEquals(blocks, NetworkBypass.withoutNetwork(blocks, HERE));
  }

  private static Located block(BlockManagerId address, long mapId, int mapIndex) {
    return new Located(address, new ShuffleBlockId(7, mapId, 3), 100 + mapId, mapIndex);
  }
}
