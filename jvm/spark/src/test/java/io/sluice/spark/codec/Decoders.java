package io.sluice.spark.codec;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import io.sluice.spark.decode.FrameDecoder;
import io.sluice.spark.seal.OutputKeys;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.unsafe.Platform;

/** The two decoders on frames in arrays; what they write beyond the room that they are given is an error. */
public enum Decoders {
  JAVA(FrameDecoder.JAVA), NATIVE(FrameDecoder.NATIVE);

  private static final int GUARD_BYTES = 64;
  private static final byte GUARD = (byte) 0xA7;

  private final FrameDecoder decoder;

  Decoders(FrameDecoder decoder) {
    this.decoder = decoder;
  }

  /** The frame's rows; null when it is corrupt. */
  public List<byte[]> rowsOrNull(byte[] frame) {
    try {
      return rows(frame);
    } catch (CorruptFrameException e) {
      return null;
    }
  }

  /** The rows of all frames of a block. */
  public List<byte[]> rowsOfBlock(byte[] block) throws CorruptFrameException {
    return rowsOfBlock(block, null);
  }

  /** The same; {@code keys} open sealed frames, and end marks have no rows. */
  public List<byte[]> rowsOfBlock(byte[] block, OutputKeys keys) throws CorruptFrameException {
    List<byte[]> rows = new ArrayList<>();
    for (int at = 0; at < block.length;) {
      FrameHeader header = FrameHeader.parse(block, at);
      int bytes = FrameHeader.BYTES + (int) header.encodedBytes();
      if (!header.isEndMark()) {
        rows.addAll(rows(java.util.Arrays.copyOfRange(block, at, at + bytes), keys));
      }
      at += bytes;
    }
    return rows;
  }

  /** The frame's rows. */
  public List<byte[]> rows(byte[] frame) throws CorruptFrameException {
    return rows(frame, null);
  }

  /** The rows of a frame that is opened with {@code keys} if they are not null. */
  public List<byte[]> rows(byte[] frame, OutputKeys keys) throws CorruptFrameException {
    ByteBuffer header = ByteBuffer.wrap(java.util.Arrays.copyOf(frame, Math.max(frame.length, FrameHeader.BYTES)))
        .order(ByteOrder.LITTLE_ENDIAN);
    // A reader has checked them before it takes memory.
    int records = Math.min(1 << 16, Math.max(0, header.getInt(8)));
    int bytes = Math.min(1 << 20, Math.max(0, header.getInt(16)));
    int lengthsAt = (bytes + 7) / 8 * 8;
    int all = lengthsAt + Integer.BYTES * records;
    long source = Platform.allocateMemory(Math.max(1, frame.length));
    long target = Platform.allocateMemory(all + GUARD_BYTES);
    try {
      Platform.copyMemory(frame, Platform.BYTE_ARRAY_OFFSET, null, source, frame.length);
      Platform.setMemory(target, GUARD, all + GUARD_BYTES);
      long found = decoder.decode(source, frame.length, target, bytes, target + lengthsAt, records, keys);
      return rowsAt(target, target + lengthsAt, (int) found);
    } finally {
      for (int i = 0; i < GUARD_BYTES; i++) {
        if (Platform.getByte(null, target + all + i) != GUARD) {
          throw new AssertionError("written behind the rows' lengths");
        }
      }
      Platform.freeMemory(source);
      Platform.freeMemory(target);
    }
  }

  private static List<byte[]> rowsAt(long address, long lengths, int count) {
    List<byte[]> rows = new ArrayList<>();
    long at = address;
    for (int i = 0; i < count; i++) {
      byte[] row = new byte[Platform.getInt(null, lengths + (long) Integer.BYTES * i)];
      Platform.copyMemory(null, at, row, Platform.BYTE_ARRAY_OFFSET, row.length);
      at += row.length;
      rows.add(row);
    }
    return rows;
  }
}
