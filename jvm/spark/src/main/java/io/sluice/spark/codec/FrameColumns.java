package io.sluice.spark.codec;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import io.sluice.spark.metrics.ColumnBytes;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds out which fields of a frame have how many bytes, in which encodings. It passes over values by their lengths and
 * decodes the sizes of values of variable length only, so it takes a small part of the time that decoding takes. One
 * thread, one frame.
 */
public final class FrameColumns {
  private static final int MOST_FIELDS = 1_000;
  private static final long MOST_DECODED_BYTES = 1 << 20;
  private static final int KIND_WORD = 0;
  private static final int KIND_VARIABLE_16 = 2;
  private static final int KIND_BITS = 2;
  private static final int KINDS_IN_BYTE = 4;
  private static final int WIDE_SLOT_BYTES = 16;
  private static final int MODE_WORDS = 0;
  private static final int MODE_TRIMMED = 1;
  private static final int LONGEST_OF_WORDS = 32;

  private final PayloadInput in;
  private final FrameHeader header;
  /** By field, and behind them for {@link ColumnBytes#REST}. */
  private final long[] rowBytes;
  private final long[][] encoded;

  private FrameColumns(PayloadInput in, FrameHeader header) {
    this.in = in;
    this.header = header;
    this.rowBytes = new long[header.fields() + 1];
    this.encoded = new long[header.fields() + 1][ColumnBytes.Encoding.values().length];
  }

  /**
   * The fields of a frame; none if it has too many or is too large, as one with a long row.
   *
   * @param source the frame, header included, {@code sourceBytes} long; a sealed one has been decrypted there
   * @throws CorruptFrameException when it is no frame
   */
  public static ArrayList<ColumnBytes> of(long source, long sourceBytes) throws CorruptFrameException {
    byte[] headerBytes = new byte[FrameHeader.BYTES];
    new MemoryRange(source, sourceBytes).get(0, headerBytes, headerBytes.length);
    FrameHeader header = FrameHeader.parse(headerBytes, 0);
    if (header.fields() > MOST_FIELDS || header.decodedBytes() > MOST_DECODED_BYTES) {
      return new ArrayList<>();
    }
    PayloadInput in =
        new PayloadInput(new MemoryRange(source, FrameHeader.BYTES + header.plainBytes()), FrameHeader.BYTES);
    FrameColumns columns = new FrameColumns(in, header);
    columns.read();
    if (in.remaining() > 0) {
      throw new CorruptFrameException(in.remaining() + " bytes after the payload's end");
    }
    return columns.found();
  }

  private int rest() {
    return header.fields();
  }

  private ArrayList<ColumnBytes> found() {
    ArrayList<ColumnBytes> found = new ArrayList<>();
    for (int i = 0; i < encoded.length; i++) {
      found.add(new ColumnBytes(i == rest() ? ColumnBytes.REST : i, rowBytes[i], encoded[i]));
    }
    return found;
  }

  private void read() throws CorruptFrameException {
    if (header.isPlain()) {
      count(rest(), ColumnBytes.Encoding.BYTES, in.remaining());
      rowBytes[rest()] = header.decodedBytes();
      in.take(in.remaining(), "rows");
      return;
    }
    int records = header.records();
    int[] kinds = readKinds();
    int bitsetWords = (header.fields() + Long.SIZE - 1) / Long.SIZE;
    for (int word = 0; word < bitsetWords; word++) {
      skipColumn(rest(), records);
    }
    rowBytes[rest()] += (long) Long.BYTES * bitsetWords * records;
    List<Slots> slots = new ArrayList<>();
    for (int field = 0; field < header.fields(); field++) {
      rowBytes[field] += (long) Long.BYTES * records;
      if (kinds[field] == KIND_WORD) {
        skipColumn(field, records);
        slots.add(null);
      } else {
        slots.add(slots(field, kinds[field], readColumn(field, records)));
      }
    }
    readTails(records);
    for (int field = 0; field < header.fields(); field++) {
      if (slots.get(field) != null) {
        readVarData(field, slots.get(field));
      }
    }
  }

  private int[] readKinds() throws CorruptFrameException {
    int bytes = (header.fields() + KINDS_IN_BYTE - 1) / KINDS_IN_BYTE;
    long at = in.take(bytes, "field kinds");
    int[] kinds = new int[header.fields()];
    for (int field = 0; field < kinds.length; field++) {
      kinds[field] = in.memory().getByte(at + field / KINDS_IN_BYTE) >> KIND_BITS * (field % KINDS_IN_BYTE) & 3;
    }
    count(rest(), ColumnBytes.Encoding.BYTES, bytes);
    return kinds;
  }

  private static Slots slots(int field, int kind, long[] sizeCodes) throws CorruptFrameException {
    Slots slots = new Slots(sizeCodes.length);
    for (long code : sizeCodes) {
      long size = code - 1;
      if (code == 0) {
        slots.add(0, 0, 0);
      } else if (size < 0 || size > MOST_DECODED_BYTES) {
        throw new CorruptFrameException("a value of " + Long.toUnsignedString(size) + " bytes in field " + field);
      } else if (kind == KIND_VARIABLE_16) {
        slots.add(0, WIDE_SLOT_BYTES, WIDE_SLOT_BYTES);
      } else {
        slots.add(0, (int) ((size + Long.BYTES - 1) / Long.BYTES * Long.BYTES), (int) size);
      }
    }
    return slots;
  }

  private void readTails(int records) throws CorruptFrameException {
    count(rest(), ColumnBytes.Encoding.BYTES, 1);
    if (in.readByte("the flag of tails") == 0) {
      return;
    }
    Slots tails = new Slots(records);
    for (long length : readColumn(rest(), records)) {
      if (length < 0 || length > MOST_DECODED_BYTES) {
        throw new CorruptFrameException("a tail of " + Long.toUnsignedString(length) + " bytes");
      }
      tails.add(0, (int) length, (int) length);
    }
    readVarData(rest(), tails);
  }

  private void readVarData(int field, Slots slots) throws CorruptFrameException {
    long sizes = 0;
    long lengths = 0;
    for (int row = 0; row < slots.count(); row++) {
      sizes += slots.size(row);
      lengths += slots.length(row);
    }
    rowBytes[field] += lengths;
    int tag = in.readByte("the mode of var data");
    count(field, ColumnBytes.Encoding.BYTES, 1);
    if (tag == MODE_WORDS) {
      readWords(field, slots);
    } else if (tag >> 4 == 0) {
      long bytes = (tag & 0xF) == MODE_TRIMMED ? sizes : lengths;
      in.take(bytes, "var data");
      count(field, ColumnBytes.Encoding.BYTES, bytes);
    } else {
      long bytes = in.readUnsignedInt("the length of compressed var data");
      in.take(bytes, "compressed var data");
      count(field, ColumnBytes.Encoding.COMPRESSED, Integer.BYTES + bytes);
    }
  }

  private void readWords(int field, Slots slots) throws CorruptFrameException {
    for (int word = 0; word < LONGEST_OF_WORDS; word += Long.BYTES) {
      int longer = 0;
      for (int row = 0; row < slots.count(); row++) {
        longer += slots.length(row) > word ? 1 : 0;
      }
      if (longer > 0) {
        skipColumn(field, longer);
      }
    }
  }

  private void count(int field, ColumnBytes.Encoding encoding, long bytes) {
    encoded[field][encoding.ordinal()] += bytes;
  }

  private long[] readColumn(int field, int count) throws CorruptFrameException {
    int encoding = in.peekByte("a column's tag") & 0xF;
    long before = in.remaining();
    long[] values = ColumnEncoding.readColumn(in, count);
    encoded[field][encoding] += before - in.remaining();
    return values;
  }

  private void skipColumn(int field, int count) throws CorruptFrameException {
    int encoding = in.peekByte("a column's tag") & 0xF;
    long before = in.remaining();
    ColumnEncoding.skipColumn(in, count);
    encoded[field][encoding] += before - in.remaining();
  }
}
