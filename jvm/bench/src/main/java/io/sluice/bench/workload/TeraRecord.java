package io.sluice.bench.workload;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * TeraGen-like records of 100 bytes, a pure function of the row number.
 *
 * <pre>
 *  0        10    12              44    48                  96    100
 *  | key     | 00 11 | row, hex    | 88 99 AA BB | filler     | CC DD EE FF |
 *    random            32 digits     break         12 hex digits, each four times
 * </pre>
 */
public final class TeraRecord {

  /** Bytes of the key, and of key and value together. */
  public static final int KEY_BYTES = 10;
  public static final int RECORD_BYTES = 100;

  private static final int VALUE_BYTES = RECORD_BYTES - KEY_BYTES;
  private static final int ROW_AT = 2;
  private static final int ROW_DIGITS = 32;
  private static final int FILLER_AT = 38;
  private static final int FILLER_DIGITS = 12;
  private static final byte[] HEX = "0123456789ABCDEF".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] FRAME = frame();

  private TeraRecord() {}

  /** The ten random bytes that {@code row} is sorted by. */
  public static byte[] key(long row) {
    byte[] key = new byte[KEY_BYTES];
    long high = Scatter.mix(row);
    for (int i = 0; i < Long.BYTES; i++) {
      key[i] = (byte) (high >>> (56 - 8 * i));
    }
    long low = Scatter.mix(~row);
    key[8] = (byte) (low >>> 8);
    key[9] = (byte) low;
    return key;
  }

  /** The ninety bytes that follow the key of {@code row}. */
  public static byte[] value(long row) {
    byte[] value = FRAME.clone();
    long rest = row;
    for (int i = ROW_DIGITS - 1; rest != 0; i--) {
      value[ROW_AT + i] = HEX[(int) (rest & 15)];
      rest >>>= 4;
    }
    long random = Scatter.mix(row + 0x5851F42D4C957F2DL);
    for (int i = 0; i < FILLER_DIGITS; i++) {
      byte digit = HEX[(int) ((random >>> (4 * i)) & 15)];
      int at = FILLER_AT + 4 * i;
      value[at] = digit;
      value[at + 1] = digit;
      value[at + 2] = digit;
      value[at + 3] = digit;
    }
    return value;
  }

  private static byte[] frame() {
    byte[] frame = new byte[VALUE_BYTES];
    frame[1] = 0x11;
    Arrays.fill(frame, ROW_AT, ROW_AT + ROW_DIGITS, (byte) '0');
    byte[] middle = {(byte) 0x88, (byte) 0x99, (byte) 0xAA, (byte) 0xBB};
    byte[] end = {(byte) 0xCC, (byte) 0xDD, (byte) 0xEE, (byte) 0xFF};
    System.arraycopy(middle, 0, frame, ROW_AT + ROW_DIGITS, middle.length);
    System.arraycopy(end, 0, frame, VALUE_BYTES - end.length, end.length);
    return frame;
  }
}
