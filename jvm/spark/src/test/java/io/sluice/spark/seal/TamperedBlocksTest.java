package io.sluice.spark.seal;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Random sealed blocks that were tampered with at random: only what the map task wrote, in its order, is accepted. */
@Timeout(120)
class TamperedBlocksTest {
  private static final int BLOCKS = 1_000;
  private static final int MOST_CHANGES = 3;
  private static final int ENCODED_BYTES_OFFSET = 20;
  private static final int PAYLOAD_CRC_OFFSET = 24;
  private static final int HEADER_CRC_OFFSET = 28;
  private static final ApplicationKey APPLICATION = new ApplicationKey(SealedFramesTest.bytesFrom(0, 32));
  private static final OutputKeys KEYS = APPLICATION.output(3, 77);
  /** The keys of what somebody may have recorded: the same output, other attempts, shuffles and applications. */
  private static final List<OutputKeys> OTHER_KEYS = List.of(KEYS, APPLICATION.output(3, 78), APPLICATION.output(2, 77),
      new ApplicationKey(SealedFramesTest.bytesFrom(1, 32)).output(3, 77));

  /** A block's partitions, in order, and its frames and end marks. */
  private record Block(int[] partitions, List<byte[]> parts) {
    static Block random(OutputKeys keys, Random random) {
      int[] partitions = new int[1 + random.nextInt(3)];
      List<byte[]> parts = new ArrayList<>();
      FrameSealer sealer = new FrameSealer(keys);
      for (int i = 0, partition = random.nextInt(3); i < partitions.length; i++, partition += 1 + random.nextInt(3)) {
        partitions[i] = partition;
        EndMark mark = keys.endMark(partition);
        for (int frames = 1 + random.nextInt(3); frames > 0; frames--) {
          byte[] frame = SealedFramesTest.frame(sealer, partition, random.nextInt(3));
          mark.add(Arrays.copyOfRange(frame, frame.length - FrameHeader.SEAL_BYTES, frame.length));
          parts.add(frame);
        }
        parts.add(mark.finish());
      }
      return new Block(partitions, parts);
    }
  }

  private static List<byte[]> tampered(List<byte[]> good, List<byte[]> recorded, Random random) {
    List<byte[]> parts = new ArrayList<>(good);
    for (int changes = 1 + random.nextInt(MOST_CHANGES); changes > 0 && !parts.isEmpty(); changes--) {
      int at = random.nextInt(parts.size());
      byte[] part = parts.get(at);
      byte[] other = recorded.get(random.nextInt(recorded.size()));
      switch (random.nextInt(8)) {
        case 0 -> Collections.swap(parts, at, random.nextInt(parts.size()));
        case 1 -> parts.remove(at);
        case 2 -> parts.add(random.nextInt(parts.size() + 1), part);
        case 3 -> parts.set(at, other);
        case 4 -> parts.add(at, other);
        case 5 -> parts.subList(at, parts.size()).clear();
        case 6 -> parts.set(at, SealedFramesTest.forged(part, random.nextInt(part.length), 1 << random.nextInt(8)));
        default -> parts.set(at, cut(part, random));
      }
    }
    return parts;
  }

  /** Shorter, with a header and checksums that fit; a seal's length stays. */
  private static byte[] cut(byte[] part, Random random) {
    int least = Math.min(part.length, FrameHeader.BYTES + FrameHeader.SEAL_BYTES);
    byte[] cut = Arrays.copyOf(part, least + random.nextInt(part.length - least + 1));
    ByteBuffer.wrap(cut).order(ByteOrder.LITTLE_ENDIAN).putInt(ENCODED_BYTES_OFFSET, cut.length - FrameHeader.BYTES);
    SealedFramesTest.putCrc(cut, FrameHeader.BYTES, cut.length, PAYLOAD_CRC_OFFSET);
    SealedFramesTest.putCrc(cut, 0, HEADER_CRC_OFFSET, HEADER_CRC_OFFSET);
    return cut;
  }

  private static boolean equal(List<byte[]> one, List<byte[]> other) {
    return Arrays.deepEquals(one.toArray(), other.toArray());
  }

  @Test
  void onlyTheBlockAsItWasWrittenIsAccepted() {
    int refused = 0;
    for (int seed = 0; seed < BLOCKS; seed++) {
      Random random = new Random(seed);
      Block block = Block.random(KEYS, random);
      List<byte[]> recorded = Block.random(OTHER_KEYS.get(seed % OTHER_KEYS.size()), random).parts();
      List<byte[]> parts = tampered(block.parts(), recorded, random);
      SealedBlock expected = new SealedBlock(KEYS, block.partitions());
      if (equal(parts, block.parts())) {
        assertDoesNotThrow(() -> SealedBlocksInArrays.check(parts, expected), "seed " + seed);
      } else {
        assertThrows(CorruptFrameException.class, () -> SealedBlocksInArrays.check(parts, expected), "seed " + seed);
        refused++;
      }
    }
    assertTrue(refused > BLOCKS / 2 && refused < BLOCKS, refused + " of " + BLOCKS + " were refused");
  }
}
