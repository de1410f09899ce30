package io.sluice.spark.codec;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import io.sluice.spark.SluiceException;
import io.sluice.spark.seal.OutputKeys;

/** Verifies and decodes frames of rows, of every encoding, without native code. No state; any thread. */
public final class JavaFrameDecoder {
  private static final int MAX_RECORDS = 1 << 16;
  private static final int MAX_FIELDS = 1 << 20;
  private static final int MAX_ARRAY_BYTES = Integer.MAX_VALUE - 8;

  private JavaFrameDecoder() {}

  /**
   * Decodes one whole frame, as {@code NativeCore.decodeRows} and {@code decodeSealedRows} do.
   *
   * @param source the frame, header included, {@code sourceBytes} long
   * @param target where the rows go, back to back
   * @param rowLengths where one int per row goes
   * @param rowLengthsCapacity for how many rows there is room
   * @param keys of the map output that the frame must have been sealed for; null when it is not sealed
   * @return number of rows
   * @throws CorruptFrameException when a checksum or the content is wrong
   */
  public static long decode(long source, long sourceBytes, long target, long targetBytes, long rowLengths,
      int rowLengthsCapacity, OutputKeys keys) throws CorruptFrameException {
    MemoryRange frame = new MemoryRange(source, sourceBytes);
    FrameHeader header = verify(frame, keys != null);
    if (header.decodedBytes() > targetBytes || header.records() > rowLengthsCapacity) {
      throw new CorruptFrameException(header.records() + " rows of " + header.decodedBytes()
          + " bytes do not fit room for " + rowLengthsCapacity + " lengths and " + targetBytes + " bytes");
    }
    if (keys != null) {
      open(frame, header, keys);
    }
    PayloadInput payload =
        new PayloadInput(new MemoryRange(source, FrameHeader.BYTES + header.plainBytes()), FrameHeader.BYTES);
    MemoryRange rows = new MemoryRange(target, header.decodedBytes());
    MemoryRange lengths = new MemoryRange(rowLengths, (long) Integer.BYTES * header.records());
    if (header.isPlain()) {
      decodePlain(payload, header, rows, lengths);
    } else {
      new ColumnarPayload(payload, header.records(), header.fields(), header.decodedBytes()).decode(rows, lengths);
    }
    if (payload.remaining() > 0) {
      throw new CorruptFrameException(payload.remaining() + " bytes after the payload's end");
    }
    return header.records();
  }

  /** Decrypts the payload where it is; it is on the heap meanwhile. */
  private static void open(MemoryRange frame, FrameHeader header, OutputKeys keys) throws CorruptFrameException {
    if (header.encodedBytes() > MAX_ARRAY_BYTES) {
      throw new SluiceException("a sealed frame of " + header.encodedBytes() + " bytes is longer than an array can be: "
          + "reading it needs the native library");
    }
    byte[] payload = new byte[(int) header.encodedBytes()];
    frame.get(FrameHeader.BYTES, payload, payload.length);
    int plainBytes = keys.open(header, payload, 0);
    frame.put(FrameHeader.BYTES, payload, 0, plainBytes);
  }

  private static FrameHeader verify(MemoryRange frame, boolean sealed) throws CorruptFrameException {
    if (frame.bytes() < FrameHeader.BYTES) {
      throw new CorruptFrameException(
          "frame header needs " + FrameHeader.BYTES + " bytes, only " + frame.bytes() + " are there");
    }
    byte[] bytes = new byte[FrameHeader.BYTES];
    frame.get(0, bytes, bytes.length);
    FrameHeader header = FrameHeader.parse(bytes, 0);
    checkFields(header, bytes, sealed);
    long payloadBytes = frame.bytes() - FrameHeader.BYTES;
    if (payloadBytes != header.encodedBytes()) {
      throw new CorruptFrameException(
          "frame has " + payloadBytes + " bytes of payload, its header says " + header.encodedBytes());
    }
    int crc = frame.crc32c(FrameHeader.BYTES, payloadBytes);
    if (crc != header.payloadCrc()) {
      throw new CorruptFrameException("payload checksum is 0x" + Integer.toHexString(header.payloadCrc()) + ", its "
          + payloadBytes + " bytes give 0x" + Integer.toHexString(crc));
    }
    return header;
  }

  private static void checkFields(FrameHeader header, byte[] bytes, boolean sealed) throws CorruptFrameException {
    if (bytes[FrameHeader.FLAGS_OFFSET] != (sealed ? FrameHeader.SEALED : 0)
        || bytes[FrameHeader.FLAGS_OFFSET + 1] != 0) {
      throw new CorruptFrameException("unknown frame flags " + bytes[FrameHeader.FLAGS_OFFSET] + " "
          + bytes[FrameHeader.FLAGS_OFFSET + 1]);
    }
    if (header.path() != FrameHeader.PATH_ROWS) {
      throw new CorruptFrameException("unknown record path " + header.path());
    }
    if (!header.isPlain() && header.encoding() != FrameHeader.ENCODING_COLUMNAR) {
      throw new CorruptFrameException("unknown payload encoding " + header.encoding());
    }
    if (header.records() <= 0 || header.records() > MAX_RECORDS) {
      throw new CorruptFrameException("frame of " + Integer.toUnsignedString(header.records()) + " records");
    }
    if (header.fields() < 0 || header.fields() > MAX_FIELDS) {
      throw new CorruptFrameException("rows of " + Integer.toUnsignedString(header.fields()) + " fields");
    }
  }

  private static void decodePlain(PayloadInput in, FrameHeader header, MemoryRange rows, MemoryRange lengths)
      throws CorruptFrameException {
    long at = in.take((long) Integer.BYTES * header.records(), "row lengths");
    long total = 0;
    for (int row = 0; row < header.records(); row++) {
      int bytes = in.memory().getInt(at + (long) row * Integer.BYTES);
      total += Integer.toUnsignedLong(bytes);
      checkRow(Integer.toUnsignedLong(bytes), total, header.decodedBytes());
      lengths.putNativeInt((long) row * Integer.BYTES, bytes);
    }
    checkTotal(total, header.decodedBytes());
    in.memory().copyTo(in.take(total, "rows"), rows, 0, total);
  }

  /** @param total bytes of all rows up to this one */
  static void checkRow(long bytes, long total, long decodedBytes) throws CorruptFrameException {
    if (total > decodedBytes || bytes > Integer.MAX_VALUE) {
      throw new CorruptFrameException("a row of " + bytes + " bytes, up to which the rows have " + total
          + " bytes; the header says " + decodedBytes + " for all");
    }
  }

  static void checkTotal(long total, long decodedBytes) throws CorruptFrameException {
    if (total != decodedBytes) {
      throw new CorruptFrameException("rows have " + total + " bytes, the header says " + decodedBytes);
    }
  }
}
