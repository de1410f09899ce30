package io.sluice.spark.seal;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Walks over sealed blocks in arrays, as readers do over those of a shuffle. */
public final class SealedBlocksInArrays {
  private SealedBlocksInArrays() {}

  /** Frames and end marks, in order. */
  static List<byte[]> parts(byte[] block) throws CorruptFrameException {
    List<byte[]> parts = new ArrayList<>();
    for (int at = 0; at < block.length;) {
      int end = at + FrameHeader.BYTES + (int) FrameHeader.parse(block, at).encodedBytes();
      parts.add(Arrays.copyOfRange(block, at, end));
      at = end;
    }
    return parts;
  }

  /** Fails unless {@code block} is one that {@code expected} accepts. */
  public static void check(byte[] block, SealedBlock expected) throws IOException {
    check(parts(block), expected);
  }

  static void check(List<byte[]> parts, SealedBlock expected) throws IOException {
    checkPartition(parts, expected);
    expected.end();
  }

  /** Fails unless the block may begin, or go on, with these. */
  static void checkPartition(List<byte[]> parts, SealedBlock expected) throws IOException {
    for (byte[] part : parts) {
      byte[] payload = Arrays.copyOfRange(part, FrameHeader.BYTES, part.length);
      FrameHeader header = FrameHeader.parse(part, 0);
      if (header.encodedBytes() != payload.length) {
        throw new CorruptFrameException(payload.length + " bytes of payload, the header says " + header.encodedBytes());
      }
      if (header.isEndMark()) {
        expected.endMark(header, payload);
      } else {
        expected.frame(Arrays.copyOfRange(payload, payload.length - FrameHeader.SEAL_BYTES, payload.length));
        expected.keys().open(header, payload, 0);
      }
    }
  }
}
