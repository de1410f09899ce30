package io.sluice.spark.seal;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import io.sluice.nativebridge.FrameNotAuthenticException;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A reader that stops after a partition's first frame: where its block was tampered with, it gets no row. */
@Timeout(120)
class SealsAheadTest {
  private static final OutputKeys KEYS = new ApplicationKey(SealedFramesTest.bytesFrom(0, 16)).output(3, 77);
  private static final int[] PARTITIONS = {4, 6};

  /** Frames 0 to 2 of partition 4 and its end mark, then frames 4 and 5 of partition 6 and its end mark. */
  private static List<byte[]> block() {
    FrameSealer sealer = new FrameSealer(KEYS);
    List<byte[]> parts = new ArrayList<>();
    for (int partition : PARTITIONS) {
      EndMark mark = KEYS.endMark(partition);
      for (int number = 0; number < 7 - partition; number++) {
        byte[] frame = SealedFramesTest.frame(sealer, partition, number);
        mark.add(seal(frame));
        parts.add(frame);
      }
      if (partition == 6) {
        byte[] frame = SealedFramesTest.frame(sealer, partition, 9);
        mark.add(seal(frame));
        parts.add(frame);
      }
      parts.add(mark.finish());
    }
    return parts;
  }

  private static byte[] seal(byte[] frame) {
    return Arrays.copyOfRange(frame, frame.length - FrameHeader.SEAL_BYTES, frame.length);
  }

  private static PositionedBytes bytesOf(List<byte[]> parts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    parts.forEach(all::writeBytes);
    byte[] block = all.toByteArray();
    return (position, target) -> {
      int count = (int) Math.max(0, Math.min(target.length, block.length - position));
      System.arraycopy(block, (int) Math.min(position, block.length), target, 0, count);
      return count;
    };
  }

  private static SealedBlock readAhead(List<byte[]> parts) {
    return new SealedBlock(KEYS, PARTITIONS, bytesOf(parts));
  }

  private static List<byte[]> order(List<byte[]> parts, int... order) {
    return Arrays.stream(order).mapToObj(parts::get).toList();
  }

  @Test
  void aBlockAsItWasWrittenIsAccepted() {
    List<byte[]> good = block();
    assertDoesNotThrow(() -> SealedBlocksInArrays.check(good, readAhead(good)));
  }

  static List<Arguments> tamperings() {
    List<byte[]> good = block();
    return List.of(
        Arguments.of("frames in another order", order(good, 0, 2, 1, 3, 4, 5, 6)),
        Arguments.of("the first frame left out", order(good, 1, 2, 3, 4, 5, 6)),
        Arguments.of("a frame left out", order(good, 0, 2, 3, 4, 5, 6)),
        Arguments.of("the last frame left out", order(good, 0, 1, 3, 4, 5, 6)),
        Arguments.of("the first frame twice", order(good, 0, 0, 1, 2, 3, 4, 5, 6)),
        Arguments.of("the last frame twice", order(good, 0, 1, 2, 2, 3, 4, 5, 6)),
        Arguments.of("a frame of another partition", order(good, 0, 1, 2, 4, 3, 5, 6)),
        Arguments.of("the end mark of another partition", order(good, 0, 1, 2, 6, 4, 5, 3)),
        Arguments.of("the end mark left out", order(good, 0, 1, 2, 4, 5, 6)),
        Arguments.of("the block ends behind a frame", order(good, 0, 1, 2)),
        Arguments.of("a frame that the same task sealed another time",
            List.of(good.get(0), block().get(1), good.get(2), good.get(3))));
  }

  /** What does not read ahead accepts the first frame: it would learn at the end mark, which is not reached. */
  @ParameterizedTest(name = "{0}")
  @MethodSource("tamperings")
  void theFirstFrameOfAPartitionThatWasTamperedWithIsRefused(String what, List<byte[]> parts) {
    byte[] first = seal(parts.get(0));
    assertDoesNotThrow(() -> new SealedBlock(KEYS, PARTITIONS).frame(first), what);
    assertThrows(FrameNotAuthenticException.class, () -> readAhead(parts).frame(first), what);
  }

  /** A partition's rows may come out before the next one's end mark was seen. */
  @Test
  void thePartitionsOfABlockAreCheckedOneAfterTheOther() throws Exception {
    List<byte[]> parts = order(block(), 0, 1, 2, 3, 5, 4, 6);
    SealedBlock block = readAhead(parts);
    SealedBlocksInArrays.checkPartition(parts.subList(0, 4), block);
    assertThrows(FrameNotAuthenticException.class, () -> block.frame(seal(parts.get(4))));
  }

  /** Somebody changes the file between the two readings. */
  @Test
  void framesThatAreNotThoseThatWereReadAheadAreRefused() throws Exception {
    List<byte[]> good = block();
    for (int[] read : new int[][] {{1}, {0, 2}, {0, 0}, {0, 1, 1}, {0, 1, 2, 0}}) {
      SealedBlock block = readAhead(good);
      for (int i = 0; i < read.length - 1; i++) {
        block.frame(seal(good.get(read[i])));
      }
      byte[] last = seal(good.get(read[read.length - 1]));
      String message = assertThrows(FrameNotAuthenticException.class, () -> block.frame(last)).getMessage();
      assertTrue(message.contains("changed while the task read them"), message);
    }
    SealedBlock short1 = readAhead(good);
    short1.frame(seal(good.get(0)));
    byte[] mark = good.get(3);
    assertThrows(FrameNotAuthenticException.class, () -> short1.endMark(
        FrameHeader.parse(mark, 0), Arrays.copyOfRange(mark, FrameHeader.BYTES, mark.length)));
  }

  /** A damaged disk is not reported as forgery: of each byte, changed while its checksum stays. */
  @Test
  void damageIsToldApart() {
    List<byte[]> good = block();
    for (int part = 1; part < 4; part++) {
      for (int at = 0; at < good.get(part).length; at++) {
        List<byte[]> damaged = new ArrayList<>(good);
        damaged.set(part, good.get(part).clone());
        damaged.get(part)[at] ^= 0x10;
        boolean isPayload = part < 3 && at >= FrameHeader.BYTES && at < good.get(part).length - FrameHeader.SEAL_BYTES;
        if (isPayload) {
          assertDoesNotThrow(() -> readAhead(damaged).frame(seal(good.get(0))), "the decoder's to find");
        } else {
          CorruptFrameException error =
              assertThrows(CorruptFrameException.class, () -> readAhead(damaged).frame(seal(good.get(0))));
          assertFalse(error instanceof FrameNotAuthenticException, "part " + part + ", byte " + at + ": " + error);
        }
      }
    }
  }

  @Test
  void aBlockThatIsCutInsideAFrameIsDamaged() {
    List<byte[]> good = block();
    for (int part = 1; part < 4; part++) {
      for (int length : new int[] {1, FrameHeader.BYTES, good.get(part).length - 1}) {
        List<byte[]> cut = new ArrayList<>(good.subList(0, part));
        cut.add(Arrays.copyOf(good.get(part), length));
        IOException error = assertThrows(IOException.class, () -> readAhead(cut).frame(seal(good.get(0))));
        assertInstanceOf(EOFException.class, error, part + " cut to " + length);
      }
    }
  }

  /** A file without an end takes no memory without an end. */
  @Test
  void thereIsAMostOfFrames() {
    byte[] frame = SealedFramesTest.frame(new FrameSealer(KEYS), 4, 0);
    PositionedBytes endless = (position, target) -> {
      for (int i = 0; i < target.length; i++) {
        target[i] = frame[(int) ((position + i) % frame.length)];
      }
      return target.length;
    };
    CorruptFrameException error = assertThrows(
        CorruptFrameException.class, () -> new SealedBlock(KEYS, PARTITIONS, endless).frame(seal(frame)));
    assertEquals("more than 1048576 sealed frames of one partition", error.getMessage());
  }
}
