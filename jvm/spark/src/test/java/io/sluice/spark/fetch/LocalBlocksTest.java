package io.sluice.spark.fetch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.decode.FrameReader;
import io.sluice.spark.decode.InlineDecoder;
import io.sluice.spark.decode.PlainFrames;
import io.sluice.spark.decode.TestBlocks;
import io.sluice.spark.decode.TestMemory;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ReadCounts;
import java.io.EOFException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.executor.TempShuffleReadMetrics;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import org.apache.spark.TaskContext$;

class LocalBlocksTest {
  @TempDir private Path directory;
  private final Map<BlockId, ManagedBuffer> stored = new HashMap<>();
  private final TaskContextImpl context = TaskContext$.MODULE$.empty();
  private final TempShuffleReadMetrics metrics = context.taskMetrics().createTempShuffleReadMetrics();
  private final TestMemory memory = new TestMemory();
  private final Counters counters = new Counters();
  private NearerCopies copies = NearerCopies.NONE;

  @AfterEach
  void allMemoryIsBack() {
    Thread.interrupted();
    memory.close();
  }

  private final LocalBlockStore store = new LocalBlockStore() {
    @Override
    public boolean reads(BlockManagerId address) {
      return true;
    }

    @Override
    public boolean sparkOpensFiles(BlockManagerId address) {
      return true;
    }

    @Override
    public ManagedBuffer find(ShuffleBlock block) throws IOException {
      ManagedBuffer data = stored.get(block.id());
      if (data == null) {
        throw new NoSuchFileException(block.id().name());
      }
      return data;
    }

    @Override
    public String diagnose(ShuffleBlock block) {
      return "diagnosis of " + block.id();
    }
  };

  private List<Long> read(ShuffleBlock... blocks) throws Exception {
    ReadCounts counts = new ReadCounts(counters);
    LocalBlocks local = new LocalBlocks(List.of(blocks), store, metrics, counts, copies);
    try (InlineDecoder batches =
        new InlineDecoder(new FrameReader(local, memory), PlainFrames.DECODER, memory, counts)) {
      return PlainFrames.values(batches);
    }
  }

  /** A file with {@code bytes} between other bytes, and the buffer that Spark's resolver would give for it. */
  private FileSegmentManagedBuffer segment(String name, byte[] bytes, long extraLength) throws IOException {
    byte[] around = {1, 2, 3};
    Path file = directory.resolve(name);
    Files.write(file, ByteBuffer.allocate(6 + bytes.length).put(around).put(bytes).put(around).array());
    return new FileSegmentManagedBuffer(null, file.toFile(), 3, bytes.length + extraLength);
  }

  @Test
  void fileBlocksAreReadByPositionAndOtherBlocksByStream() throws Exception {
    byte[] large = PlainFrames.block(100, 400, 300);
    stored.put(TestBlocks.block(0).id(), segment("a", PlainFrames.block(0, 2, 50), 0));
    stored.put(TestBlocks.block(1).id(), segment("b", large, 0));
    stored.put(TestBlocks.block(2).id(), new NioManagedBuffer(ByteBuffer.wrap(PlainFrames.block(120_100, 2, 50))));
    assertEquals(PlainFrames.range(0, 120_200), read(TestBlocks.block(0), TestBlocks.block(1), TestBlocks.block(2)));
    assertEquals(3, metrics.localBlocksFetched());
    assertEquals(stored.values().stream().mapToLong(ManagedBuffer::size).sum(), metrics.localBytesRead());
    assertEquals(0, metrics.remoteBlocksFetched());
    assertEquals(3, counters.get(Counter.READ_LOCAL_BLOCKS));
  }

  @Test
  void blocksOfOneFileShareOneChannel() throws Exception {
    byte[] frame = PlainFrames.frame(0, 10);
    FileSegmentManagedBuffer both = segment("both", PlainFrames.block(0, 2, 10), 0);
    stored.put(TestBlocks.block(0).id(), new FileSegmentManagedBuffer(null, both.getFile(), 3, frame.length));
    stored.put(TestBlocks.block(1).id(),
        new FileSegmentManagedBuffer(null, both.getFile(), 3 + frame.length, frame.length));
    assertEquals(PlainFrames.range(0, 20), read(TestBlocks.block(0), TestBlocks.block(1)));
  }

  @Test
  void aCopyThatIsNearerIsReadInPlaceOfTheFile() throws Exception {
    byte[] rows = PlainFrames.block(100, 4, 30);
    stored.put(TestBlocks.block(0).id(), segment("a", PlainFrames.block(0, 2, 50), 0));
    // Of the same length, so that the file's bytes would be other rows.
    stored.put(TestBlocks.block(1).id(), segment("b", PlainFrames.block(5000, 4, 30), 0));
    copies = (block, bytes, diagnosis) -> {
      if (!block.equals(TestBlocks.block(1))) {
        return null;
      }
      assertEquals(rows.length, bytes);
      return new StreamBlockInput(block, new ByteArrayInputStream(rows), bytes, new byte[100],
          corruption -> diagnosis.get(), () -> null);
    };
    assertEquals(PlainFrames.range(0, 220), read(TestBlocks.block(0), TestBlocks.block(1)));
    assertEquals(2, metrics.localBlocksFetched());
  }

  @Test
  void theErrorOfAMissingFileNamesItsBlock() throws Exception {
    stored.put(TestBlocks.block(0).id(), segment("a", PlainFrames.block(0, 2, 50), 0));
    BlockReadException failure =
        assertThrows(BlockReadException.class, () -> read(TestBlocks.block(0), TestBlocks.block(1)));
    assertEquals(TestBlocks.block(1), failure.block());
    assertInstanceOf(NoSuchFileException.class, failure.getCause());
    assertNull(failure.diagnosis());
  }

  @Test
  void theErrorOfAFileDeletedBeforeOpenNamesItsBlock() throws Exception {
    FileSegmentManagedBuffer gone = segment("gone", PlainFrames.block(0, 2, 50), 0);
    stored.put(TestBlocks.block(0).id(), gone);
    Files.delete(gone.getFile().toPath());
    BlockReadException failure = assertThrows(BlockReadException.class, () -> read(TestBlocks.block(0)));
    assertInstanceOf(NoSuchFileException.class, failure.getCause());
  }

  @Test
  void theErrorOfATruncatedFileNamesBlockOffsetAndIndexEntries() throws Exception {
    stored.put(TestBlocks.block(0).id(), segment("short", PlainFrames.block(0, 2, 50), 4));
    BlockReadException failure = assertThrows(BlockReadException.class, () -> read(TestBlocks.block(0)));
    assertInstanceOf(EOFException.class, failure.getCause());
    assertTrue(failure.getMessage().contains("the index says"), failure::getMessage);
    assertEquals("diagnosis of shuffle_3_100_5", failure.diagnosis());
  }

  @Test
  void aDecreasingIndexEntryIsAnUnreadableBlock() throws Exception {
    stored.put(TestBlocks.block(0).id(), segment("negative", new byte[10], -20));
    BlockReadException failure = assertThrows(BlockReadException.class, () -> read(TestBlocks.block(0)));
    assertTrue(failure.getMessage().contains("-10 bytes"), failure::getMessage);
    assertEquals(0, metrics.localBlocksFetched());
  }

  @Test
  void anInterruptWhileReadingIsTheCauseOfTheReadError() throws Exception {
    stored.put(TestBlocks.block(0).id(), segment("a", PlainFrames.block(0, 2, 50), 0));
    Thread.currentThread().interrupt();
    BlockReadException failure = assertThrows(BlockReadException.class, () -> read(TestBlocks.block(0)));
    assertInstanceOf(ClosedByInterruptException.class, failure.getCause());
  }
}
