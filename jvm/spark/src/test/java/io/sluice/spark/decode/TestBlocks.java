package io.sluice.spark.decode;

import io.sluice.spark.fetch.BlockInput;
import io.sluice.spark.fetch.BlockInputs;
import io.sluice.spark.fetch.ShuffleBlock;
import io.sluice.spark.fetch.StreamBlockInput;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import scala.Option;

/** Blocks in arrays, given out as streams that read as little at a time as a test wants. */
public final class TestBlocks implements BlockInputs {
  public static final BlockManagerId ADDRESS = BlockManagerId.apply("7", "elsewhere", 7777, Option.empty());

  private final List<byte[]> blocks = new ArrayList<>();
  private final int bytesPerRead;
  private final boolean sizeKnown;
  private int next;
  private int open;
  private int arrived = Integer.MAX_VALUE;
  private Runnable onWait = () -> {};

  TestBlocks(int bytesPerRead, boolean sizeKnown) {
    this.bytesPerRead = bytesPerRead;
    this.sizeKnown = sizeKnown;
  }

  public static TestBlocks of(byte[]... blocks) {
    TestBlocks all = new TestBlocks(Integer.MAX_VALUE, true);
    for (byte[] block : blocks) {
      all.add(block);
    }
    return all;
  }

  TestBlocks add(byte[] block) {
    blocks.add(block);
    return this;
  }

  /**
   * Only the first {@code count} have arrived. Who asks for the one behind them waits: {@code onWait} is run, and all
   * have arrived.
   */
  public TestBlocks arrived(int count, Runnable waited) {
    arrived = count;
    onWait = waited;
    return this;
  }

  /** Blocks opened and not closed. */
  public int open() {
    return open;
  }

  public static ShuffleBlock block(int map) {
    return new ShuffleBlock(new ShuffleBlockId(3, 100 + map, 5), ADDRESS, map);
  }

  @Override
  public BlockInput next() {
    if (next == blocks.size()) {
      return null;
    }
    if (next >= arrived) {
      onWait.run();
      arrived = Integer.MAX_VALUE;
    }
    byte[] bytes = blocks.get(next);
    open++;
    InputStream stream = new ByteArrayInputStream(bytes) {
      @Override
      public int read(byte[] target, int offset, int length) {
        return super.read(target, offset, Math.min(length, bytesPerRead));
      }

      @Override
      public void close() throws IOException {
        open--;
        super.close();
      }
    };
    long size = sizeKnown ? bytes.length : BlockInput.UNKNOWN;
    return new StreamBlockInput(block(next++), stream, size, new byte[StreamBlockInput.STAGING_BYTES],
        corruption -> "diagnosed", () -> null);
  }

  @Override
  public boolean nextHasArrived() {
    return next < Math.min(blocks.size(), arrived);
  }

  @Override
  public void close() {
    next = blocks.size();
  }
}
