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
 * @param flags 0, {@link #SEALED} or {@link #END_MARK}
 * @param records number of records, at least 1, but in an end mark
 * @param fields fields of each row
 * @param decodedBytes bytes of all rows together
 * @param encodedBytes bytes of the payload that follows the header
 * @param payloadCrc CRC32C of the payload
 */
public record FrameHeader(
    int path, int encoding, int flags, int records, int fields, long decodedBytes, long encodedBytes, int payloadCrc) {
  /** Length of a header in bytes. */
  public static final int BYTES = 32;
  /** "SLF1" read as a little-endian int. */
  public static final int MAGIC = 0x31464C53;
  /** "SLF2" read as a little-endian int. */
  public static final int SEALED_MAGIC = 0x32464C53;
  /** Flags of a sealed frame. */
  public static final int SEALED = 1;
  /** Flags of an end mark. */
  public static final int END_MARK = 3;
  /** The last bytes of a sealed payload: tag, nonce and partition. */
  public static final int SEAL_BYTES = 32;
  /** What follows the header of an end mark. */
  public static final int END_MARK_PAYLOAD_BYTES = 20;
  /** The path of SQL rows. */
  public static final int PATH_ROWS = 1;
  /** Row lengths, then rows. */
  public static final int ENCODING_PLAIN = 0;
  public static final int ENCODING_COLUMNAR = 1;
  /** Where the two bytes are that must be 0: flags, and one that is reserved. */
  public static final int FLAGS_OFFSET = 6;

  private static final int MAGIC_WITHOUT_VERSION = 0xFFFFFF;
  private static final int VERSION_SHIFT = 24;
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
    if (magic != MAGIC && magic != SEALED_MAGIC) {
      throw new CorruptFrameException(otherMagic(magic));
    }
    CRC32C crc = new CRC32C();
    crc.update(bytes, offset, HEADER_CRC_OFFSET);
    int stored = in.getInt(offset + HEADER_CRC_OFFSET);
    if (stored != (int) crc.getValue()) {
      throw new CorruptFrameException("frame header checksum is 0x" + Integer.toHexString(stored)
          + ", its bytes give 0x" + Long.toHexString(crc.getValue()));
    }
    FrameHeader header = new FrameHeader(
        bytes[offset + 4],
        bytes[offset + 5],
        bytes[offset + FLAGS_OFFSET],
        in.getInt(offset + 8),
        in.getInt(offset + 12),
        Integer.toUnsignedLong(in.getInt(offset + 16)),
        Integer.toUnsignedLong(in.getInt(offset + 20)),
        in.getInt(offset + PAYLOAD_CRC_OFFSET));
    byte reserved = bytes[offset + FLAGS_OFFSET + 1];
    if (magic == SEALED_MAGIC) {
      header.checkSealed(reserved);
    } else if (header.flags != 0 || reserved != 0) {
      throw new CorruptFrameException("unknown frame flags " + header.flags + " " + reserved
          + ": written by another version of Sluice?");
    }
    return header;
  }

  /** The magic is "SLF" and the character of the version. */
  private static String otherMagic(int magic) {
    if ((magic & MAGIC_WITHOUT_VERSION) == (MAGIC & MAGIC_WITHOUT_VERSION)) {
      return "a frame of format version '" + (char) (magic >>> VERSION_SHIFT)
          + "', this version of Sluice reads '1' and "
          + "'2': written by another version of Sluice? The driver and all executors must have the same jar";
    }
    return "not a Sluice frame: magic is 0x" + Integer.toHexString(magic) + ", expected 0x"
        + Integer.toHexString(MAGIC) + " or 0x" + Integer.toHexString(SEALED_MAGIC);
  }

  private void checkSealed(byte reserved) throws CorruptFrameException {
    boolean frame = flags == SEALED && encodedBytes >= SEAL_BYTES;
    boolean mark = flags == END_MARK && encodedBytes == END_MARK_PAYLOAD_BYTES;
    if (!frame && !mark || reserved != 0) {
      throw new CorruptFrameException("impossible header of a sealed frame: " + this);
    }
  }

  /** The header of the end mark with this payload. */
  public static FrameHeader endMark(byte[] payload) {
    CRC32C crc = new CRC32C();
    crc.update(payload, 0, payload.length);
    return new FrameHeader(PATH_ROWS, ENCODING_PLAIN, END_MARK, 0, 0, 0, payload.length, (int) crc.getValue());
  }

  /** The header of this frame with a seal. */
  public FrameHeader sealed(int sealedPayloadCrc) {
    return new FrameHeader(
        path, encoding, SEALED, records, fields, decodedBytes, encodedBytes + SEAL_BYTES, sealedPayloadCrc);
  }

  /** The same but for the payload's checksum. */
  public FrameHeader withPayloadCrc(int crc) {
    return new FrameHeader(path, encoding, flags, records, fields, decodedBytes, encodedBytes, crc);
  }

  public boolean isSealed() {
    return flags == SEALED;
  }

  public boolean isEndMark() {
    return flags == END_MARK;
  }

  /** Bytes of the payload before its seal, if it has one. */
  public long plainBytes() {
    return encodedBytes - (isSealed() ? SEAL_BYTES : 0);
  }

  public boolean isPlain() {
    return encoding == ENCODING_PLAIN;
  }

  /** The {@link #BYTES} bytes of this header, its checksum included. */
  public byte[] toBytes() {
    byte[] bytes = new byte[BYTES];
    ByteBuffer out = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    out.putInt(flags == 0 ? MAGIC : SEALED_MAGIC).put((byte) path).put((byte) encoding).put((byte) flags).put((byte) 0);
    out.putInt(records).putInt(fields).putInt((int) decodedBytes).putInt((int) encodedBytes).putInt(payloadCrc);
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, HEADER_CRC_OFFSET);
    out.putInt((int) crc.getValue());
    return bytes;
  }
}
