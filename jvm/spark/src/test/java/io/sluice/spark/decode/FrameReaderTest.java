package io.sluice.spark.decode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import io.sluice.spark.fetch.BlockInput;
import io.sluice.spark.fetch.BlockInputs;
import io.sluice.spark.fetch.BlockReadException;
import io.sluice.spark.fetch.StreamBlockInput;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ReadCounts;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class FrameReaderTest {
  /** Rows of one frame that make it larger than the buffer. */
  private static final int LARGE = 60_000;

  private static List<Long> read(TestBlocks blocks) throws Exception {
    try (TestMemory memory = new TestMemory();
        InlineDecoder batches = new InlineDecoder(
            new FrameReader(blocks, memory), PlainFrames.DECODER, memory, new ReadCounts(new Counters()))) {
      return PlainFrames.values(batches);
    } finally {
      assertEquals(0, blocks.open(), "blocks left open");
    }
  }

  @ParameterizedTest
  @CsvSource({"1, true", "1, false", "7, false", "33, true", "4096, false", "2147483647, true", "2147483647, false"})
  void framesMayBeSplitAtAnyByteOfAReadOrBuffer(int bytesPerRead, boolean sizeKnown) throws Exception {
    TestBlocks blocks = new TestBlocks(bytesPerRead, sizeKnown)
        .add(PlainFrames.block(0, 3, 5))
        .add(PlainFrames.block(15, 40, 250))
        .add(PlainFrames.block(10_015, 1, 1));
    assertEquals(PlainFrames.range(0, 10_016), read(blocks));
  }

  @Test
  void aFrameLargerThanTheBufferBetweenSmallOnes() throws Exception {
    byte[] first = PlainFrames.block(0, 2, 10);
    byte[] large = PlainFrames.frame(20, LARGE);
    byte[] last = PlainFrames.block(20 + LARGE, 300, 20);
    byte[] block = Arrays.copyOf(first, first.length + large.length + last.length);
    System.arraycopy(large, 0, block, first.length, large.length);
    System.arraycopy(last, 0, block, first.length + large.length, last.length);
    assertEquals(PlainFrames.range(0, 20 + LARGE + 6000), read(TestBlocks.of(block)));
  }

  @Test
  void readingFramesOfOneSizeAllocatesNothingAfterTheFirst() throws Exception {
    TestBlocks blocks = new TestBlocks(Integer.MAX_VALUE, true);
    for (int i = 0; i < 50; i++) {
      blocks.add(PlainFrames.block(i * 600L, 3, 200));
    }
    try (TestMemory memory = new TestMemory();
        InlineDecoder batches = new InlineDecoder(
            new FrameReader(blocks, memory), PlainFrames.DECODER, memory, new ReadCounts(new Counters()))) {
      assertEquals(PlainFrames.range(0, 30_000), PlainFrames.values(batches));
      assertEquals(2, memory.taken(), "one buffer and one batch");
    }
  }

  @Test
  void aPlainRowIsReadToWhereItIsNeeded() throws Exception {
    try (TestMemory memory = new TestMemory(); FrameReader frames =
        new FrameReader(TestBlocks.of(PlainFrames.frameOfOneRow(7, 160)), memory)) {
      assertTrue(frames.next() && frames.isPlainRow());
      // With the row's length, for which DecodedBatch needs room behind the row.
      assertEquals(160 + Integer.BYTES, frames.rowArrayBytes());
      frames.readRow(new byte[160]);
    }
  }

  @Test
  void withoutBlocksThereAreNoRows() throws Exception {
    assertEquals(List.of(), read(TestBlocks.of()));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 31, 32, 33, 200, 231})
  void truncationAnywhereIsAnErrorThatNamesBlockAndOffset(int length) {
    byte[] first = PlainFrames.frame(0, 10);
    byte[] block = PlainFrames.block(0, 2, 10);
    TestBlocks blocks = new TestBlocks(16, false)
        .add(first)
        .add(Arrays.copyOf(block, first.length + length));
    BlockReadException failure = assertThrows(BlockReadException.class, () -> read(blocks));
    assertEquals(TestBlocks.block(1).id(), failure.block().id());
    assertEquals(first.length, failure.offset());
    assertTrue(failure.getCause() instanceof EOFException, () -> "cause: " + failure.getCause());
    assertEquals("diagnosed", failure.diagnosis());
  }

  /** Every byte of a frame matters: a flipped bit in any of them is found. */
  @Test
  void everyFlippedByteIsDetected() {
    byte[] frame = PlainFrames.frame(0, 3);
    for (int i = 0; i < frame.length; i++) {
      byte[] flipped = frame.clone();
      flipped[i] ^= 0x10;
      BlockReadException failure = assertThrows(
          BlockReadException.class, () -> read(TestBlocks.of(flipped)), "byte " + i);
      assertTrue(failure.getCause() instanceof CorruptFrameException, "byte " + i);
    }
  }

  /** Headers with a right checksum and impossible content: nothing is allocated for them. */
  @ParameterizedTest
  @CsvSource({
    "2, 1, 1, 16, 20, record path",
    "1, 0, 1, 16, 20, impossible",
    "1, -1, 1, 16, 20, impossible",
    "1, 2147483647, 1, 16, 20, impossible",
    "1, 65537, 0, 0, 20, impossible",
    "1, 1, -1, 16, 20, impossible",
    "1, 1, 1, 12, 20, impossible",
    "1, 2, 1, 16, 20, impossible",
    "1, 1, 1000, 16, 20, impossible",
    "1, 1, 1, 16, 4294967295, ends at byte",
    "1, 1, 1, 4294967288, 4000, ends at byte",
  })
  void invalidFrameHeadersAreErrors(int path, int records, int fields, long decoded, long encoded, String words)
      throws Exception {
    byte[] header = PlainFrames.header(path, records, fields, decoded, encoded, 0);
    byte[] block = PlainFrames.frame(header, new byte[20]);
    try (TestMemory memory = new TestMemory();
        FrameReader frames = new FrameReader(TestBlocks.of(block), memory)) {
      BlockReadException failure = assertThrows(BlockReadException.class, frames::next);
      assertTrue(failure.getMessage().contains(words), failure::getMessage);
      assertEquals(1, memory.taken(), "only the buffer");
    }
  }

  @Test
  void rowsOfZeroColumnsHaveNoBytes() throws Exception {
    byte[] payload = new byte[4 * 5];
    byte[] block = PlainFrames.frame(PlainFrames.header(FrameHeader.PATH_ROWS, 5, 0, 0, payload), payload);
    try (TestMemory memory = new TestMemory();
        InlineDecoder batches = new InlineDecoder(new FrameReader(TestBlocks.of(block), memory),
            PlainFrames.DECODER, memory, new ReadCounts(new Counters()))) {
      assertTrue(batches.hasNext());
      DecodedBatch batch = batches.next();
      assertEquals(5, batch.rows());
      assertEquals(0, batch.fields());
      assertEquals(0, batch.rowBytes());
    }
  }

  @Test
  void aBlockThatEndsBetweenFramesButBeforeItsSizeIsAnError() {
    byte[] frame = PlainFrames.frame(0, 4);
    BlockInputs blocks = new BlockInputs() {
      private boolean given;

      @Override
      public BlockInput next() {
        if (given) {
          return null;
        }
        given = true;
        return new StreamBlockInput(TestBlocks.block(0), new ByteArrayInputStream(frame), 2L * frame.length,
            new byte[64], corruption -> null, () -> null);
      }

      @Override
      public boolean nextHasArrived() {
        return !given;
      }

      @Override
      public void close() {}
    };
    try (TestMemory memory = new TestMemory(); FrameReader frames = new FrameReader(blocks, memory)) {
      assertTrue(frames.next());
      frames.readInPlace();
      BlockReadException failure = assertThrows(BlockReadException.class, frames::next);
      assertEquals(frame.length, failure.offset());
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }
}
