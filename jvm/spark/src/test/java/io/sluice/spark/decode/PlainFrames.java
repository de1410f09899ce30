package io.sluice.spark.decode;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;

/**
 * Frames made by hand, so that tests of the read path need no native library: real headers, and a payload of
 * the row lengths followed by the rows. A row has one long field.
 */
public final class PlainFrames {
  public static final int ROW_BYTES = 16;
  private static final int PAYLOAD_CRC_AT = 24;
  private static final int HEADER_CRC_AT = 28;

  private PlainFrames() {}

  /** A frame of the rows {@code first}, {@code first + 1}, … */
  public static byte[] frame(long first, int records) {
    ByteBuffer payload = littleEndian((Integer.BYTES + ROW_BYTES) * records);
    for (int i = 0; i < records; i++) {
      payload.putInt(ROW_BYTES);
    }
    for (int i = 0; i < records; i++) {
      payload.putLong(0).putLong(first + i);
    }
    return frame(header(FrameHeader.PATH_ROWS, records, 1, (long) ROW_BYTES * records, payload.array()),
        payload.array());
  }

  /** A frame of any rows of {@code fields} fields. */
  public static byte[] frame(int fields, List<UnsafeRow> rows) {
    int rowBytes = rows.stream().mapToInt(UnsafeRow::getSizeInBytes).sum();
    ByteBuffer payload = littleEndian(Integer.BYTES * rows.size() + rowBytes);
    rows.forEach(row -> payload.putInt(row.getSizeInBytes()));
    rows.forEach(row -> payload.put(row.getBytes()));
    return frame(header(FrameHeader.PATH_ROWS, rows.size(), fields, rowBytes, payload.array()), payload.array());
  }

  /** A frame of one row of {@code rowBytes}, a multiple of 8; its field is {@code value}. */
  public static byte[] frameOfOneRow(long value, int rowBytes) {
    ByteBuffer payload = littleEndian(Integer.BYTES + rowBytes);
    payload.putInt(rowBytes).putLong(0).putLong(value);
    return frame(header(FrameHeader.PATH_ROWS, 1, 1, rowBytes, payload.array()), payload.array());
  }

  /** The same, but its header says that it is columnar: a frame for {@link #DECODER} that does not go to the heap. */
  static byte[] frameToDecodeOfOneRow(long value, int rowBytes) {
    byte[] frame = frameOfOneRow(value, rowBytes);
    frame[4 + 1] = FrameHeader.ENCODING_COLUMNAR;
    littleEndian(frame).putInt(HEADER_CRC_AT, crc(frame, 0, HEADER_CRC_AT));
    return frame;
  }

  /** The same frame of one row, with another length before the row and checksums that agree with it. */
  static byte[] frameWithLength(byte[] frame, int rowLength) {
    byte[] changed = frame.clone();
    littleEndian(changed).putInt(FrameHeader.BYTES, rowLength);
    return withChecksums(changed);
  }

  /** The same frame with checksums that agree with its bytes. */
  static byte[] withChecksums(byte[] frame) {
    byte[] changed = frame.clone();
    littleEndian(changed)
        .putInt(PAYLOAD_CRC_AT, crc(changed, FrameHeader.BYTES, changed.length - FrameHeader.BYTES))
        .putInt(HEADER_CRC_AT, crc(changed, 0, HEADER_CRC_AT));
    return changed;
  }

  /** Blocks of frames: {@code frames} frames of {@code records} rows each, counting up from {@code first}. */
  public static byte[] block(long first, int frames, int records) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    for (int i = 0; i < frames; i++) {
      out.writeBytes(frame(first + (long) i * records, records));
    }
    return out.toByteArray();
  }

  public static byte[] frame(byte[] header, byte[] payload) {
    return littleEndian(header.length + payload.length).put(header).put(payload).array();
  }

  public static byte[] header(int path, int records, int fields, long decodedBytes, byte[] payload) {
    return header(path, records, fields, decodedBytes, payload.length, crc(payload, 0, payload.length));
  }

  public static byte[] header(int path, int records, int fields, long decodedBytes, long encodedBytes, int payloadCrc) {
    ByteBuffer out = littleEndian(FrameHeader.BYTES);
    out.putInt(FrameHeader.MAGIC).put((byte) path).put((byte) 0).put((byte) 0).put((byte) 0);
    out.putInt(records).putInt(fields).putInt((int) decodedBytes).putInt((int) encodedBytes).putInt(payloadCrc);
    return out.putInt(crc(out.array(), 0, out.position())).array();
  }

  /** The decoder of these frames; it checks the payload's checksum as the native one does. */
  public static final FrameDecoder DECODER = (source, sourceBytes, target, targetBytes, rowLengths, capacity, keys) -> {
    byte[] frame = bytesAt(source, Math.toIntExact(sourceBytes));
    ByteBuffer in = ByteBuffer.wrap(frame).order(ByteOrder.LITTLE_ENDIAN);
    int records = in.getInt(8);
    int lengthsBytes = Integer.BYTES * records;
    if (in.getInt(24) != crc(frame, FrameHeader.BYTES, frame.length - FrameHeader.BYTES)) {
      throw new CorruptFrameException("payload checksum");
    }
    copy(frame, FrameHeader.BYTES, rowLengths, lengthsBytes);
    copy(frame, FrameHeader.BYTES + lengthsBytes, target, Math.toIntExact(targetBytes));
    return records;
  };

  /** The values of all rows that a batch source gives. */
  public static List<Long> values(BatchSource batches) throws Exception {
    List<Long> values = new ArrayList<>();
    while (batches.hasNext()) {
      DecodedBatch batch = batches.next();
      long row = batch.offset();
      for (int i = 0; i < batch.rows(); i++) {
        UnsafeRow unsafe = new UnsafeRow(batch.fields());
        int length = Platform.getInt(batch.base(), batch.offset() + batch.rowBytes() + 4L * i);
        unsafe.pointTo(batch.base(), row, length);
        values.add(unsafe.getLong(0));
        row += length;
      }
    }
    return values;
  }

  public static List<Long> range(long first, long count) {
    List<Long> values = new ArrayList<>();
    for (long i = first; i < first + count; i++) {
      values.add(i);
    }
    return values;
  }

  public static byte[] bytesAt(long address, int bytes) {
    byte[] copy = new byte[bytes];
    Platform.copyMemory(null, address, copy, Platform.BYTE_ARRAY_OFFSET, bytes);
    return copy;
  }

  private static void copy(byte[] from, int offset, long to, int bytes) {
    Platform.copyMemory(from, Platform.BYTE_ARRAY_OFFSET + offset, null, to, bytes);
  }

  private static int crc(byte[] bytes, int offset, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, offset, length);
    return (int) crc.getValue();
  }

  private static ByteBuffer littleEndian(int bytes) {
    return littleEndian(new byte[bytes]);
  }

  private static ByteBuffer littleEndian(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
