package io.sluice.spark.codec;

import io.sluice.nativebridge.CorruptFrameException;

/** The bytes of one slot a row: of a field of variable length, or of the tails. */
final class VarData {
  private static final int MODE_WORDS = 0;
  private static final int MODE_TRIMMED = 1;
  private static final int MODE_FULL = 2;
  private static final int LONGEST_OF_WORDS = 32;
  private static final int LARGEST_ARRAY = Integer.MAX_VALUE - 8;

  private VarData() {}

  /** Reads the bytes of {@code slots} to {@code rows}, which are zero there. */
  static void read(PayloadInput in, Slots slots, MemoryRange rows) throws CorruptFrameException {
    int tag = in.readByte("the mode of var data");
    int mode = tag & 0xF;
    Decompression codec = Decompression.of(tag >> 4);
    if (mode == MODE_WORDS && codec == Decompression.NONE) {
      readWords(in, slots, rows);
    } else if (mode == MODE_TRIMMED || mode == MODE_FULL) {
      readBytes(in, codec, slots, mode == MODE_TRIMMED, rows);
    } else {
      throw new CorruptFrameException("unknown mode of var data: " + mode + " with codec " + codec);
    }
  }

  private static void readWords(PayloadInput in, Slots slots, MemoryRange rows) throws CorruptFrameException {
    int longest = 0;
    for (int row = 0; row < slots.count(); row++) {
      int length = slots.length(row);
      longest = Math.max(longest, length);
      if (length % Long.BYTES != 0 || length > LONGEST_OF_WORDS) {
        throw new CorruptFrameException("var data of words for a slot of " + length + " bytes");
      }
    }
    for (int word = 0; word < longest; word += Long.BYTES) {
      readWord(in, slots, word, rows);
    }
  }

  /** The word at byte {@code word} of every slot that is longer. */
  private static void readWord(PayloadInput in, Slots slots, int word, MemoryRange rows) throws CorruptFrameException {
    int longer = 0;
    for (int row = 0; row < slots.count(); row++) {
      longer += slots.length(row) > word ? 1 : 0;
    }
    long[] values = ColumnEncoding.readColumn(in, longer);
    int next = 0;
    for (int row = 0; row < slots.count(); row++) {
      if (slots.length(row) > word) {
        rows.putNativeLong(slots.at(row) + word, values[next++]);
      }
    }
  }

  private static void readBytes(PayloadInput in, Decompression codec, Slots slots, boolean trimmed, MemoryRange rows)
      throws CorruptFrameException {
    long total = 0;
    for (int row = 0; row < slots.count(); row++) {
      total += trimmed ? slots.size(row) : slots.length(row);
    }
    if (codec == Decompression.NONE) {
      long at = in.take(total, "var data");
      for (int row = 0; row < slots.count(); row++) {
        int bytes = trimmed ? slots.size(row) : slots.length(row);
        in.memory().copyTo(at, rows, slots.at(row), bytes);
        at += bytes;
      }
      return;
    }
    byte[] values = decompress(in, codec, total);
    int from = 0;
    for (int row = 0; row < slots.count(); row++) {
      int bytes = trimmed ? slots.size(row) : slots.length(row);
      rows.put(slots.at(row), values, from, bytes);
      from += bytes;
    }
  }

  private static byte[] decompress(PayloadInput in, Decompression codec, long total) throws CorruptFrameException {
    long packedBytes = in.readUnsignedInt("the length of compressed var data");
    long at = in.take(packedBytes, "compressed var data");
    if (total > LARGEST_ARRAY || packedBytes > LARGEST_ARRAY) {
      throw new CorruptFrameException("compressed var data of " + total + " bytes, more than a Java array can hold");
    }
    byte[] packed = new byte[(int) packedBytes];
    in.memory().get(at, packed, packed.length);
    byte[] values = new byte[(int) total];
    codec.fill(packed, values);
    return values;
  }
}
