package io.sluice.spark.fetch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.sluice.spark.compat.ScalaIterators;
import io.sluice.spark.decode.TestBlocks;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ReadCounts;
import io.sluice.spark.seal.PositionedBytes;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Predicate;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.executor.TempShuffleReadMetrics;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NettyManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import scala.Tuple2;
import scala.Tuple3;

import org.apache.spark.TaskContext$;

/** Blocks of every kind are read by position, whatever was read of them, and whoever has read it. */
class PositionedBytesTest {
  private static final int BYTES = 10_000;
  private static final byte[] BLOCK = new byte[BYTES];

  static {
    new Random(1).nextBytes(BLOCK);
  }

  @TempDir private Path folder;
  private final TaskContextImpl context = TaskContext$.MODULE$.empty();
  private final TempShuffleReadMetrics metrics = context.taskMetrics().createTempShuffleReadMetrics();
  private final ReadCounts counts = new ReadCounts(new Counters());

  /** Where blocks of this host are looked up. */
  private record Store(ManagedBuffer data, Predicate<BlockManagerId> reads) implements LocalBlockStore {
    @Override
    public boolean reads(BlockManagerId address) {
      return reads.test(address);
    }

    @Override
    public boolean sparkOpensFiles(BlockManagerId address) {
      return true;
    }

    @Override
    public ManagedBuffer find(ShuffleBlock block) {
      return data;
    }

    @Override
    public String diagnose(ShuffleBlock block) {
      return null;
    }
  }

  private static void assertReadsAll(BlockInput input) throws IOException {
    long memory = Platform.allocateMemory(BYTES);
    try (input; PositionedBytes bytes = input.positioned()) {
      assertPositions(bytes);
      for (int read = 0; read < 1000;) {
        read += input.read(memory + read, 1000 - read);
      }
      assertPositions(bytes);
      byte[] first = new byte[1000];
      Platform.copyMemory(null, memory, first, Platform.BYTE_ARRAY_OFFSET, first.length);
      assertArrayEquals(Arrays.copyOf(BLOCK, 1000), first);
    } finally {
      Platform.freeMemory(memory);
    }
  }

  private static void assertPositions(PositionedBytes bytes) throws IOException {
    for (int position : new int[] {0, 5000, 5100, 9990, 9999, 3, BYTES, BYTES + 5, 1}) {
      byte[] some = new byte[200];
      int expected = Math.max(0, Math.min(some.length, BYTES - position));
      assertEquals(expected, bytes.read(position, some), "from " + position);
      int from = Math.min(position, BYTES);
      assertArrayEquals(Arrays.copyOfRange(BLOCK, from, from + expected), Arrays.copyOf(some, expected));
    }
  }

  private FileSegmentManagedBuffer segment() throws IOException {
    Path file = Files.write(folder.resolve("file"), ByteBuffer.allocate(BYTES + 14).putInt(7).put(BLOCK).array());
    return new FileSegmentManagedBuffer(null, file.toFile(), 4, BYTES);
  }

  private BlockInput local(ManagedBuffer data) throws IOException {
    return new LocalBlocks(
        List.of(TestBlocks.block(0)), new Store(data, address -> true), metrics, counts, NearerCopies.NONE).next();
  }

  /** @param read how many bytes Spark has read before it gives out the block */
  private BlockInput remote(ManagedBuffer arrived, boolean checksFrames, int read, LocalBlockStore store)
      throws IOException {
    ShuffleBlock block = TestBlocks.block(0);
    List<Object> sized = List.of(new Tuple3<>(block.id(), (long) BYTES, 0));
    BlockPlan plan = new BlockPlan(
        ScalaIterators.of(List.<Tuple2<BlockManagerId, ?>>of(
            new Tuple2<>(TestBlocks.ADDRESS, ScalaIterators.of(sized.iterator()).toList())).iterator()),
        address -> false, TransferSize.AS_REPORTED, false, true);
    FetchedStreams streams = new FetchedStreams(metrics, checksFrames);
    InputStream sparks = arrived == null ? new ByteArrayInputStream(BLOCK) : arrived.createInputStream();
    streams.wrapper().apply(block.id(), sparks);
    assertEquals(read, sparks.readNBytes(read).length);
    InputStream rest = new java.io.SequenceInputStream(new ByteArrayInputStream(BLOCK, 0, read), sparks);
    ArrivedBlocks blocks = new ArrivedBlocks();
    if (arrived != null) {
      blocks.arriving(block.id().name(), arrived);
      blocks.arrived();
    }
    streams.reporter().incRemoteBytesRead(BYTES);
    return new RemoteBlocks(
        new RemoteBlocks.FetchedBlocks(
            ScalaIterators.of(List.of(new Tuple2<BlockId, InputStream>(block.id(), rest)).iterator()), streams, blocks,
            arrived != null),
        context, plan, store, counts).next();
  }

  private static NettyManagedBuffer netty() {
    ByteBuf bytes = Unpooled.buffer(BYTES + 20).writeInt(7).writeBytes(BLOCK);
    bytes.skipBytes(Integer.BYTES);
    return new NettyManagedBuffer(bytes);
  }

  @Test
  void blocksOfThisHost() throws IOException {
    assertReadsAll(local(segment()));
    assertReadsAll(local(new NioManagedBuffer(ByteBuffer.wrap(BLOCK))));
  }

  @Test
  void fetchedBlocksInMemory() throws IOException {
    assertReadsAll(remote(netty(), false, 0, null));
    assertReadsAll(remote(new NioManagedBuffer(ByteBuffer.wrap(BLOCK)), false, 0, null));
  }

  /** {@code spark.shuffle.detectCorrupt.useExtraMemory}. */
  @Test
  void fetchedBlocksThatSparkHasReadAPartOf() throws IOException {
    for (int read : new int[] {0, 999, BYTES}) {
      NettyManagedBuffer block = netty();
      assertReadsAll(remote(block, true, read, null));
      assertEquals(1, ((ByteBuf) block.convertToNetty()).refCnt() - 1, "its own reference is given back");
      assertReadsAll(remote(new NioManagedBuffer(ByteBuffer.wrap(BLOCK)), true, read, null));
    }
  }

  @Test
  void blocksThatWereFetchedToAFile() throws IOException {
    assertReadsAll(remote(segment(), false, 0, null));
    assertReadsAll(remote(segment(), true, 500, null));
  }

  @Test
  void blocksThatSparkHasOpenedAsFilesOfThisHost() throws IOException {
    assertReadsAll(remote(null, false, 0, new Store(segment(), address -> true)));
    BlockInput unknown = remote(null, false, 0, new Store(null, address -> false));
    assertNull(unknown.positioned(), "its directory is not known any more");
  }
}
