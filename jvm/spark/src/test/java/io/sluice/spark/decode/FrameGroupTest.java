package io.sluice.spark.decode;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.FrameHeader;
import io.sluice.nativebridge.FrameNotAuthenticException;
import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeLibrary;
import io.sluice.spark.SluiceException;
import io.sluice.spark.compat.ScalaIterators;
import io.sluice.spark.fetch.BlockPlan;
import io.sluice.spark.fetch.BlockReadException;
import io.sluice.spark.fetch.SealedBlocks;
import io.sluice.spark.fetch.TransferSize;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ReadCounts;
import io.sluice.spark.seal.ApplicationKey;
import io.sluice.spark.seal.EndMark;
import io.sluice.spark.seal.FrameSealer;
import io.sluice.spark.seal.OutputKeys;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class FrameGroupTest {
  private static final ApplicationKey APPLICATION = new ApplicationKey(new byte[16]);

  private final List<Long> values = new ArrayList<>();

  /** It has the message of an error. */
  @BeforeAll
  static void loadLibrary() {
    assertTrue(NativeLibrary.load("").available());
  }

  /** Appends the values of frames that lie behind each other; corrupt if one has 13 rows. */
  private long decode(long source, long sourceBytes) {
    byte[] frames = PlainFrames.bytesAt(source, (int) sourceBytes);
    ByteBuffer in = ByteBuffer.wrap(frames).order(ByteOrder.LITTLE_ENDIAN);
    long rows = 0;
    for (int at = 0; at < frames.length;) {
      FrameHeader header = header(frames, at);
      if (header.records() == 13) {
        return NativeCore.CORRUPT;
      }
      int first = at + FrameHeader.BYTES + Integer.BYTES * header.records();
      for (int i = 0; i < header.records(); i++) {
        values.add(in.getLong(first + PlainFrames.ROW_BYTES * i + Long.BYTES));
      }
      rows += header.records();
      at += FrameHeader.BYTES + (int) header.encodedBytes();
    }
    return rows;
  }

  private static FrameHeader header(byte[] frames, int at) {
    try {
      return FrameHeader.parse(frames, at);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static FrameGroup group(TestBlocks blocks, TestMemory memory, Counters counters) {
    return group(blocks, memory, counters, false);
  }

  private static FrameGroup group(TestBlocks blocks, TestMemory memory, Counters counters, boolean singleRowsAlone) {
    return new FrameGroup(new FrameReader(blocks, memory), memory, new ReadCounts(counters), singleRowsAlone);
  }

  private List<Long> batches(TestBlocks blocks) throws Exception {
    return batches(blocks, false);
  }

  private List<Long> batches(TestBlocks blocks, boolean singleRowsAlone) throws Exception {
    List<Long> rows = new ArrayList<>();
    Counters counters = new Counters();
    try (TestMemory memory = new TestMemory();
        FrameGroup group = group(blocks, memory, counters, singleRowsAlone)) {
      while (group.next()) {
        rows.add(group.decode(this::decode));
      }
    }
    assertEquals(values.size(), counters.get(Counter.READ_RECORDS));
    assertTrue(values.isEmpty() || counters.get(Counter.READ_DECODE_NANOS) > 0);
    assertEquals(0, blocks.open(), "blocks left open");
    return rows;
  }

  @Test
  void framesOfManyBlocksBecomeBatchesOfAsManyRowsAsCometHas() throws Exception {
    TestBlocks blocks = TestBlocks.of(PlainFrames.block(0, 50, 100), PlainFrames.block(5_000, 50, 100),
        PlainFrames.block(10_000, 1, 9_000), PlainFrames.block(19_000, 1, 1));
    assertEquals(List.of(8_100L, 1_900L, 9_000L, 1L), batches(blocks));
    assertEquals(PlainFrames.range(0, 19_001), values);
  }

  @Test
  void framesOfOneRowStayAloneWhereThatIsAskedFor() throws Exception {
    byte[][] blocks = {PlainFrames.frame(0, 1), PlainFrames.frame(1, 1), PlainFrames.frame(2, 3),
      PlainFrames.frame(5, 2), PlainFrames.frame(7, 1), PlainFrames.frame(8, 2)};
    assertEquals(List.of(1L, 1L, 5L, 1L, 2L), batches(TestBlocks.of(blocks), true));
    assertEquals(PlainFrames.range(0, 10), values);
    values.clear();
    assertEquals(List.of(10L), batches(TestBlocks.of(blocks)));
  }

  /** Looking whether there is another frame changes nothing of those that were read. */
  @Test
  void longRowsCanBeTakenAlone() throws Exception {
    int bytes = 33 << 20;
    TestBlocks blocks = TestBlocks.of(PlainFrames.frame(0, 2), PlainFrames.frameOfOneRow(2, bytes),
        PlainFrames.frame(3, 2));
    Counters counters = new Counters();
    try (TestMemory memory = new TestMemory(); FrameGroup group = group(blocks, memory, counters)) {
      assertTrue(group.hasNext());
      assertNull(group.nextLongRow());
      assertTrue(group.next());
      assertTrue(group.hasNext());
      assertEquals(2, group.decode(this::decode));
      UnsafeRow row = group.nextLongRow();
      assertEquals(bytes, row.getSizeInBytes());
      assertEquals(2, row.getLong(0));
      assertTrue(group.hasNext());
      assertEquals(2, row.getLong(0));
      assertNull(group.nextLongRow());
      assertTrue(group.next());
      assertEquals(2, group.decode(this::decode));
      assertFalse(group.hasNext());
      assertNull(group.nextLongRow());
    }
    assertEquals(List.of(0L, 1L, 3L, 4L), values);
    assertEquals(5, counters.get(Counter.READ_RECORDS));
    assertEquals(0, blocks.open(), "blocks left open");
  }

  @Test
  void withoutBlocksThereAreNoBatches() throws Exception {
    assertEquals(List.of(), batches(TestBlocks.of()));
  }

  @Test
  void rowsThatAreLargerWhenTheyAreDecodedBecomeSmallerBatches() throws Exception {
    // 12 MiB of rows each, as their headers say.
    byte[] payload = new byte[Integer.BYTES + PlainFrames.ROW_BYTES];
    payload[0] = PlainFrames.ROW_BYTES;
    byte[] frame = PlainFrames.frame(PlainFrames.header(FrameHeader.PATH_ROWS, 1, 1, 12 << 20, payload), payload);
    assertEquals(List.of(2L, 2L, 1L), batches(TestBlocks.of(frame, frame, frame, frame, frame)));
  }

  @Test
  void theFrameThatIsCorruptIsNamed() throws Exception {
    TestBlocks blocks = TestBlocks.of(PlainFrames.frame(0, 5),
        concat(PlainFrames.frame(5, 5), PlainFrames.frame(10, 13), PlainFrames.frame(23, 5)));
    try (TestMemory memory = new TestMemory(); FrameGroup group = group(blocks, memory, new Counters())) {
      assertTrue(group.next());
      BlockReadException error = assertThrows(BlockReadException.class, () -> group.decode(this::decode));
      assertEquals("shuffle_3_101_5", error.block().id().name());
      assertEquals(PlainFrames.frame(5, 5).length, error.offset());
    }
    assertEquals(0, blocks.open(), "blocks left open");
  }

  /** The block of partition 5 of a map output: its frames sealed, and their end mark. */
  private static byte[] sealed(int map, byte[]... frames) throws Exception {
    OutputKeys keys = APPLICATION.output(3, 100 + map);
    FrameSealer sealer = new FrameSealer(keys);
    EndMark mark = keys.endMark(5);
    ByteArrayOutputStream block = new ByteArrayOutputStream();
    for (byte[] plain : frames) {
      int payloadBytes = plain.length - FrameHeader.BYTES;
      FrameSealer.Frame frame = sealer.start(FrameHeader.parse(plain, 0), 5);
      byte[] target = new byte[payloadBytes + FrameSealer.Frame.MOST_EXTRA_BYTES];
      int count = frame.update(Arrays.copyOfRange(plain, FrameHeader.BYTES, plain.length), payloadBytes, target);
      byte[] rest = frame.finish();
      block.writeBytes(frame.header());
      block.write(target, 0, count);
      block.writeBytes(rest);
      mark.add(frame.seal());
    }
    block.writeBytes(mark.finish());
    return block.toByteArray();
  }

  private static FrameGroup sealedGroup(TestBlocks blocks, TestMemory memory, Counters counters) {
    BlockPlan plan = new BlockPlan(
        ScalaIterators.of(Collections.emptyIterator()), address -> true, TransferSize.AS_REPORTED, false, true);
    FrameReader frames = new FrameReader(blocks, memory, new SealedBlocks(APPLICATION, plan));
    return new FrameGroup(frames, memory, new ReadCounts(counters), false);
  }

  @Test
  void sealedFramesOfSeveralMapOutputsBecomeTheFramesThatWereSealed() throws Exception {
    byte[][] plain = {PlainFrames.frame(0, 3), PlainFrames.frame(3, 1), PlainFrames.frame(4, 6)};
    TestBlocks blocks = TestBlocks.of(sealed(0, plain[0], plain[1]), sealed(1, plain[2]));
    try (TestMemory memory = new TestMemory();
        FrameGroup group = sealedGroup(blocks, memory, new Counters())) {
      assertTrue(group.next());
      assertEquals(10, group.decode((source, bytes) -> {
        assertArrayEquals(concat(plain), PlainFrames.bytesAt(source, (int) bytes));
        return 10;
      }));
      assertFalse(group.next());
    }
    assertEquals(0, blocks.open(), "blocks left open");
  }

  /** Changed after it was sealed, with checksums that agree. */
  @Test
  void aSealedFrameThatSomebodyChangedIsNamed() throws Exception {
    byte[] block = sealed(0, PlainFrames.frame(0, 3), PlainFrames.frame(3, 2));
    int second = PlainFrames.frame(0, 3).length + FrameHeader.SEAL_BYTES;
    block[second + FrameHeader.BYTES] ^= 1;
    int end = second + PlainFrames.frame(3, 2).length + FrameHeader.SEAL_BYTES;
    byte[] changed = PlainFrames.withChecksums(Arrays.copyOfRange(block, second, end));
    System.arraycopy(changed, 0, block, second, changed.length);
    TestBlocks blocks = TestBlocks.of(block);
    try (TestMemory memory = new TestMemory(); FrameGroup group = sealedGroup(blocks, memory, new Counters())) {
      BlockReadException error = assertThrows(BlockReadException.class, group::next);
      assertInstanceOf(FrameNotAuthenticException.class, error.getCause());
      assertEquals("shuffle_3_100_5", error.block().id().name());
      assertEquals(second, error.offset());
    }
    assertEquals(0, blocks.open(), "blocks left open");
  }

  @Test
  void framesThatColumnsCannotTakeAreAnErrorWithTheBlock() throws Exception {
    TestBlocks blocks = TestBlocks.of(PlainFrames.frame(0, 5));
    try (TestMemory memory = new TestMemory(); FrameGroup group = group(blocks, memory, new Counters())) {
      assertTrue(group.next());
      SluiceException error = assertThrows(
          SluiceException.class, () -> group.decode((source, bytes) -> NativeCore.UNSUPPORTED));
      assertTrue(error.getMessage().startsWith("decoding 1 frames from block shuffle_3_100_5 at byte 0 on failed"),
          error.getMessage());
    }
  }

  private static byte[] concat(byte[]... parts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.writeBytes(part);
    }
    return all.toByteArray();
  }
}
