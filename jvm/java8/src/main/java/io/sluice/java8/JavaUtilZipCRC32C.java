package io.sluice.java8;

import java.util.zip.Checksum;

/** For {@code java.util.zip.CRC32C}: the CRC of Castagnoli's polynomial, eight bytes a step by tables. */
public final class JavaUtilZipCRC32C implements Checksum {
  /** The polynomial, its bits reversed. */
  private static final int POLYNOMIAL = 0x82F6_3B78;
  private static final int STEP = 8;
  /** Entry [k][b]: the contribution of byte b to the checksum when k bytes follow it. */
  private static final int[][] TABLES = tables();

  private int state = -1;

  private static int[][] tables() {
    int[][] tables = new int[STEP][256];
    for (int b = 0; b < 256; b++) {
      int crc = b;
      for (int bit = 0; bit < 8; bit++) {
        crc = crc >>> 1 ^ (crc & 1) * POLYNOMIAL;
      }
      tables[0][b] = crc;
    }
    for (int k = 1; k < STEP; k++) {
      for (int b = 0; b < 256; b++) {
        int before = tables[k - 1][b];
        tables[k][b] = before >>> 8 ^ tables[0][before & 0xFF];
      }
    }
    return tables;
  }

  @Override
  public void update(int b) {
    state = state >>> 8 ^ TABLES[0][(state ^ b) & 0xFF];
  }

  @Override
  public void update(byte[] bytes, int offset, int length) {
    JavaUtilObjects.checkFromIndexSize(offset, length, bytes.length);
    int end = offset + length;
    int i = offset;
    for (; i <= end - STEP; i += STEP) {
      int first =
          state ^ (bytes[i] & 0xFF | (bytes[i + 1] & 0xFF) << 8 | (bytes[i + 2] & 0xFF) << 16 | bytes[i + 3] << 24);
      state = TABLES[7][first & 0xFF] ^ TABLES[6][first >>> 8 & 0xFF] ^ TABLES[5][first >>> 16 & 0xFF]
          ^ TABLES[4][first >>> 24] ^ TABLES[3][bytes[i + 4] & 0xFF] ^ TABLES[2][bytes[i + 5] & 0xFF]
          ^ TABLES[1][bytes[i + 6] & 0xFF] ^ TABLES[0][bytes[i + 7] & 0xFF];
    }
    for (; i < end; i++) {
      update(bytes[i]);
    }
  }

  @Override
  public long getValue() {
    return ~state & 0xFFFF_FFFFL;
  }

  @Override
  public void reset() {
    state = -1;
  }
}
