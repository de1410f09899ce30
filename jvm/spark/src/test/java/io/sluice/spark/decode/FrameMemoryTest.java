package io.sluice.spark.decode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.SluiceException;
import io.sluice.spark.concurrent.WorkerPool;
import io.sluice.spark.fetch.BlockInput;
import io.sluice.spark.fetch.BlockInputs;
import io.sluice.spark.fetch.BlockReadException;
import io.sluice.spark.fetch.ShuffleBlock;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ReadCounts;
import io.sluice.spark.seal.PositionedBytes;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.apache.spark.TaskContext$;

/** How much memory frames take on their way to rows, and how often their bytes are copied. */
@Timeout(60)
class FrameMemoryTest {
  private static final int LARGE_ROW = 40 << 20;

  private final TestMemory memory = new TestMemory();
  private final Counters counters = new Counters();
  private final WorkerPool pool = new WorkerPool("test-decoder", 2);
  private final ReadAheadLimit inFlight = new ReadAheadLimit(1 << 30);

  @AfterEach
  void everythingIsBack() {
    pool.close();
    assertEquals(0, inFlight.usedBytes());
    memory.close();
  }

  private BatchSource batches(BlockInputs blocks, FrameDecoder decoder, boolean readAhead) {
    FrameReader frames = new FrameReader(blocks, memory);
    ReadCounts counts = new ReadCounts(counters);
    return readAhead
        ? new ReadAheadDecoder(frames, decoder, memory, TaskContext$.MODULE$.empty(), pool, inFlight, counts, 3, 0)
        : new InlineDecoder(frames, decoder, memory, counts);
  }

  private static byte[] smallLargeSmall(boolean plain) {
    ByteArrayOutputStream block = new ByteArrayOutputStream();
    block.writeBytes(PlainFrames.frame(0, 10));
    block.writeBytes(plain ? PlainFrames.frameOfOneRow(10, LARGE_ROW)
        : PlainFrames.frameToDecodeOfOneRow(10, LARGE_ROW));
    block.writeBytes(PlainFrames.block(11, 8, 10));
    return block.toByteArray();
  }

  /**
   * In memory are its encoded bytes once, its rows once, and the buffers of small frames; all of it is freed after use.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aLargeRowIsInMemoryAtMostTwiceAndFreedAfterUse(boolean readAhead) throws Exception {
    try (BatchSource batches = batches(TestBlocks.of(smallLargeSmall(false)), PlainFrames.DECODER, readAhead)) {
      List<Long> values = new ArrayList<>();
      while (batches.hasNext()) {
        DecodedBatch batch = batches.next();
        values.add(Platform.getLong(batch.base(), batch.offset() + Long.BYTES));
        boolean large = batch.rowBytes() == LARGE_ROW;
        assertTrue(memory.liveBytes() < (large ? LARGE_ROW + (1 << 20) : LARGE_ROW * 2 + (1 << 20)));
      }
      assertEquals(List.of(0L, 10L, 11L, 21L, 31L, 41L, 51L, 61L, 71L, 81L), values);
      assertTrue(memory.liveBytes() < 2 << 20, () -> memory.liveBytes() + " bytes are kept");
    }
    assertTrue(memory.mostLiveBytes() < 2L * LARGE_ROW + (2 << 20), () -> memory.mostLiveBytes() + " bytes at once");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aFrameLargerThanTheMemoryLimitFailsWithoutWaiting(boolean readAhead) throws Exception {
    memory.limit(2L * LARGE_ROW - 1);
    memory.refuse(true);
    try (BatchSource batches = batches(TestBlocks.of(smallLargeSmall(false)), PlainFrames.DECODER, readAhead)) {
      SluiceException failure = assertThrows(SluiceException.class, () -> PlainFrames.values(batches));
      assertTrue(failure.getMessage().contains("limit"), failure::getMessage);
    }
    assertTrue(memory.mostLiveBytes() < LARGE_ROW, "nothing was taken for it");
  }

  /** As the rows of Spark's own readers: no memory outside the heap is taken for it, nor is there any. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aLargeRowInAPlainFrameGoesToTheHeap(boolean readAhead) throws Exception {
    memory.limit(1 << 20);
    try (BatchSource batches = batches(TestBlocks.of(smallLargeSmall(true)), PlainFrames.DECODER, readAhead)) {
      assertEquals(List.of(0L, 10L, 11L, 21L, 31L, 41L, 51L, 61L, 71L, 81L), firstValues(batches));
    }
    assertTrue(memory.mostLiveBytes() < 2 << 20, () -> memory.mostLiveBytes() + " bytes at once");
  }

  private static List<Long> firstValues(BatchSource batches) throws Exception {
    List<Long> values = new ArrayList<>();
    while (batches.hasNext()) {
      DecodedBatch batch = batches.next();
      assertEquals(batch.rowBytes() == LARGE_ROW, batch.base() != null);
      values.add(Platform.getLong(batch.base(), batch.offset() + Long.BYTES));
    }
    return values;
  }

  /** Each damage is found, whatever the decoder would say. */
  @ParameterizedTest
  @CsvSource({"32, payload checksum", "40000032, payload checksum", "-1, bytes into a frame",
    "-2, says 41943040"})
  void aDamagedRowOnItsWayToTheHeapIsCorrupt(int damage, String message) throws Exception {
    byte[] frame = PlainFrames.frameOfOneRow(10, LARGE_ROW);
    if (damage == -2) {
      frame = PlainFrames.frameWithLength(frame, LARGE_ROW - 8);
    } else if (damage >= 0) {
      frame[damage] ^= 1;
    }
    byte[] block = damage == -1 ? Arrays.copyOf(frame, frame.length - 1) : frame;
    try (BatchSource batches =
        batches(new TestBlocks(Integer.MAX_VALUE, false).add(block), PlainFrames.DECODER, false)) {
      BlockReadException failure = assertThrows(BlockReadException.class, () -> PlainFrames.values(batches));
      assertTrue(failure.getMessage().contains(message), failure::getMessage);
    }
  }

  /** Where bytes were read to. */
  private record Read(long address, int bytes) {}

  /** One block, of which each read is written down. */
  private static final class CountedBlock implements BlockInputs, BlockInput {
    private final byte[] bytes;
    private final boolean inMemory;
    private final List<Read> reads = new ArrayList<>();
    private int position = -1;

    CountedBlock(byte[] bytes, boolean inMemory) {
      this.bytes = bytes;
      this.inMemory = inMemory;
    }

    @Override
    public BlockInput next() {
      position++;
      return position == 0 ? this : null;
    }

    @Override
    public boolean nextHasArrived() {
      return position < 0;
    }

    @Override
    public ShuffleBlock block() {
      return TestBlocks.block(0);
    }

    @Override
    public long sizeBytes() {
      return bytes.length;
    }

    @Override
    public boolean isInMemory() {
      return inMemory;
    }

    @Override
    public int read(long address, int maxBytes) {
      int count = Math.min(maxBytes, bytes.length - position);
      if (count == 0) {
        return -1;
      }
      Platform.copyMemory(bytes, Platform.BYTE_ARRAY_OFFSET + position, null, address, count);
      reads.add(new Read(address, count));
      position += count;
      return count;
    }

    @Override
    public PositionedBytes positioned() {
      return null;
    }

    @Override
    public String diagnose(java.io.IOException corruption) {
      return null;
    }

    @Override
    public void close() {}

    long bytesRead() {
      return reads.stream().mapToLong(Read::bytes).sum();
    }

    /** Bytes that were read to where the decoder found them. */
    long bytesReadInto(List<Read> decoded) {
      return reads.stream().filter(read -> decoded.stream().anyMatch(frame -> read.address() >= frame.address()
          && read.address() < frame.address() + frame.bytes())).mapToLong(Read::bytes).sum();
    }
  }

  /**
   * A block in memory, as a fetched one: all but the headers is read to where it is decoded. From a file up to a buffer
   * full of each frame is read in advance, with its header.
   */
  @ParameterizedTest
  @CsvSource({"true, false, 30000, 0", "true, true, 30000, 32", "true, true, 1000, 32", "false, true, 30000, 65536",
    "false, false, 30000, 65536"})
  void bytesAreCopiedOnce(boolean inMemory, boolean readAhead, int rows, long mostBufferedPerFrame) throws Exception {
    int frames = 6;
    byte[] bytes = PlainFrames.block(0, frames, rows);
    CountedBlock block = new CountedBlock(bytes, inMemory);
    List<Read> decoded = new ArrayList<>();
    FrameDecoder noting = (source, sourceBytes, target, targetBytes, lengths, capacity, keys) -> {
      synchronized (decoded) {
        decoded.add(new Read(source, (int) sourceBytes));
      }
      return PlainFrames.DECODER.decode(source, sourceBytes, target, targetBytes, lengths, capacity, null);
    };
    try (BatchSource batches = batches(block, noting, readAhead)) {
      assertEquals(PlainFrames.range(0, (long) frames * rows), PlainFrames.values(batches));
    }
    assertEquals(bytes.length, block.bytesRead(), "every byte is read once");
    long buffered = bytes.length - block.bytesReadInto(decoded);
    long header = inMemory && !readAhead ? 32 : 0;
    assertTrue(buffered <= frames * (mostBufferedPerFrame + header), () -> buffered + " bytes were copied twice");
  }
}
