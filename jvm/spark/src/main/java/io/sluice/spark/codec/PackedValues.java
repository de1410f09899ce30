package io.sluice.spark.codec;

import io.sluice.nativebridge.CorruptFrameException;

/**
 * Values of 0 to 64 bits each, as columns hold them: tiles of 512 values and a rest. Whole tiles, and a rest of at
 * least 64 values, have eight lanes (value i in lane i mod 8) whose words follow each other in turn; a shorter rest is
 * one string of bits.
 */
final class PackedValues {
  private static final int TILE = 512;
  private static final int LANES = 8;
  private static final int LEAST_LANED = 64;

  private PackedValues() {}

  static long[] read(PayloadInput in, int count, int width) throws CorruptFrameException {
    long at = in.take(bytes(count, width), "packed values");
    long[] values = new long[count];
    if (width == Long.SIZE) {
      for (int i = 0; i < count; i++) {
        values[i] = in.memory().getLong(at + (long) i * Long.BYTES);
      }
    } else if (width > 0) {
      for (int tile = 0; tile < count; tile += TILE) {
        at += readTile(in.memory(), at, values, tile, Math.min(TILE, count - tile), width);
      }
    }
    return values;
  }

  /** Bytes of {@code count} values of {@code width} bits. */
  static long bytes(int count, int width) {
    long tiles = count / TILE * (long) Long.BYTES * LANES * width;
    int rest = count % TILE;
    return tiles + (width == Long.SIZE ? (long) rest * Long.BYTES : tileBytes(rest, width));
  }

  private static int tileBytes(int count, int width) {
    if (count < LEAST_LANED) {
      return bytesOf(count * width);
    }
    int laneBits = laneValues(count) * width;
    return LANES * (laneBits / Long.SIZE * Long.BYTES + bytesOf(laneBits % Long.SIZE));
  }

  private static int laneValues(int count) {
    return (count + LANES - 1) / LANES;
  }

  private static int bytesOf(int bits) {
    return (bits + Byte.SIZE - 1) / Byte.SIZE;
  }

  /** Reads the {@code count} values of one tile, or of the rest: how many bytes they take. */
  private static int readTile(MemoryRange memory, long at, long[] values, int first, int count, int width) {
    int bytes = tileBytes(count, width);
    byte[] packed = new byte[bytes];
    memory.get(at, packed, bytes);
    boolean laned = count >= LEAST_LANED;
    int laneBits = laneValues(count) * width;
    for (int i = 0; i < count; i++) {
      long value = 0;
      for (int bit = 0; bit < width;) {
        int position = (laned ? i / LANES : i) * width + bit;
        int place = laned ? laneByte(i % LANES, position, laneBits) : position / Byte.SIZE;
        int shift = position % Byte.SIZE;
        int taken = Math.min(Byte.SIZE - shift, width - bit);
        value |= (long) (packed[place] >>> shift & (1 << taken) - 1) << bit;
        bit += taken;
      }
      values[first + i] = value;
    }
    return bytes;
  }

  /** Which byte of a tile holds bit {@code position} of a lane of {@code laneBits}. */
  private static int laneByte(int lane, int position, int laneBits) {
    int word = position / Long.SIZE;
    int wordBytes = (word + 1) * Long.SIZE <= laneBits ? Long.BYTES : bytesOf(laneBits % Long.SIZE);
    return word * Long.BYTES * LANES + lane * wordBytes + position % Long.SIZE / Byte.SIZE;
  }
}
