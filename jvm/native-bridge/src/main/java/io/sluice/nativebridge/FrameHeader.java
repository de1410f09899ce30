package io.sluice.nativebridge;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * The fixed 32 bytes before every frame, little-endian. The specification is {@code docs/block-format.md}.
 *
 * <pre>
 *  0        4     5        6      7         8        12      16       20       24           28
 *  | "SLF1" | path| encoding| flags| reserved| records| fields| decoded| encoded| payload crc | header crc |
 * </pre>
 *
 * The header has a checksum of its own, so its lengths can be trusted before anything is allocated or read.
 *
 * @param path the record path that made the frame: {@link #PATH_ROWS}
 * @param encoding of the payload: {@link #ENCODING_PLAIN} or {@link #ENCODING_COLUMNAR}
 * @param records number of records, at least 1
 * @param fields fields of each row
 * @param decodedBytes bytes of all rows together
 * @param encodedBytes bytes of the payload that follows the header
 * @param payloadCrc CRC32C of the payload
 */
public record FrameHeader(
    int path, int encoding, int records, int fields, long decodedBytes, long encodedBytes, int payloadCrc) {
  /** Length of a header in bytes. */
  public static final int BYTES = 32;
  /** "SLF1" read as a little-endian int. */
  public static final int MAGIC = 0x31464C53;
  /** The path of SQL rows. */
  public static final int PATH_ROWS = 1;
  /** Row lengths, then rows. */
  public static final int ENCODING_PLAIN = 0;
  public static final int ENCODING_COLUMNAR = 1;
  /** Where the two bytes are that must be 0: flags, and one that is reserved. */
  public static final int FLAGS_OFFSET = 6;

  private static final int PAYLOAD_CRC_OFFSET = 24;
  private static final int HEADER_CRC_OFFSET = 28;

  /**
   * Parses and checks the {@link #BYTES} bytes at {@code offset}.
   *
   * @throws CorruptFrameException when magic, header checksum or a field is not valid
   */
  public static FrameHeader parse(byte[] bytes, int offset) throws CorruptFrameException {
    ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    int magic = in.getInt(offset);
    if (magic != MAGIC) {
      throw new CorruptFrameException(
          "not a Sluice frame: magic is 0x" + Integer.toHexString(magic) + ", expected 0x"
              + Integer.toHexString(MAGIC));
    }
    CRC32C crc = new CRC32C();
    crc.update(bytes, offset, HEADER_CRC_OFFSET);
    int stored = in.getInt(offset + HEADER_CRC_OFFSET);
    if (stored != (int) crc.getValue()) {
      throw new CorruptFrameException("frame header checksum is 0x" + Integer.toHexString(stored)
          + ", its bytes give 0x" + Long.toHexString(crc.getValue()));
    }
    return new FrameHeader(
        bytes[offset + 4],
        bytes[offset + 5],
        in.getInt(offset + 8),
        in.getInt(offset + 12),
        Integer.toUnsignedLong(in.getInt(offset + 16)),
        Integer.toUnsignedLong(in.getInt(offset + 20)),
        in.getInt(offset + PAYLOAD_CRC_OFFSET));
  }

  public boolean isPlain() {
    return encoding == ENCODING_PLAIN;
  }

  /** The {@link #BYTES} bytes of this header, its checksum included. */
  public byte[] toBytes() {
    byte[] bytes = new byte[BYTES];
    ByteBuffer out = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    out.putInt(MAGIC).put((byte) path).put((byte) encoding).putShort((short) 0);
    out.putInt(records).putInt(fields).putInt((int) decodedBytes).putInt((int) encodedBytes).putInt(payloadCrc);
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, HEADER_CRC_OFFSET);
    out.putInt((int) crc.getValue());
    return bytes;
  }
}
