package io.sluice.spark.codec;

import io.sluice.nativebridge.CorruptFrameException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Reads one columnar payload. Words of fields of variable length are rebuilt by the rule by which Spark's row writers
 * lay out rows: each value begins where the one before ends. One thread, one frame.
 *
 * <p>It takes as much heap as the frame has decoded bytes, and twice as much again for values that were compressed: a
 * frame has about 160 KiB, unless a row is larger. A frame of one row with very many fields takes up to four times its
 * bytes, because each field has an array.
 */
final class ColumnarPayload {
  private static final int KIND_WORD = 0;
  private static final int KIND_VARIABLE_16 = 2;
  private static final int KIND_BITS = 2;
  private static final int KINDS_IN_BYTE = 4;
  private static final int WIDE_SLOT_BYTES = 16;
  private static final long LOW_HALF = 0xFFFF_FFFFL;

  private final PayloadInput in;
  private final int records;
  private final int fields;
  private final int bitsetWords;
  /** Bytes of all rows. */
  private final long decodedBytes;
  private final int[] kinds;
  /** Of each word of a row, its value in each row. */
  private final List<long[]> words = new ArrayList<>();
  /** Of each row, how long it is as far as the fields go that were read; in the end without its tail. */
  private final long[] ends;
  /** Null when no row has bytes behind its fields. */
  private long[] tails;

  ColumnarPayload(PayloadInput in, int records, int fields, long decodedBytes) throws CorruptFrameException {
    this.in = in;
    this.records = records;
    this.fields = fields;
    this.decodedBytes = decodedBytes;
    this.bitsetWords = (fields + Long.SIZE - 1) / Long.SIZE;
    long wordBytes = (long) Long.BYTES * (bitsetWords + fields);
    if (wordBytes * records > decodedBytes) {
      throw new CorruptFrameException(
          records + " rows of " + wordBytes / Long.BYTES + " words do not fit " + decodedBytes + " bytes");
    }
    this.kinds = new int[fields];
    this.ends = new long[records];
    Arrays.fill(ends, wordBytes);
  }

  /**
   * @param rows where the rows go, back to back
   * @param lengths where one int per row goes
   */
  void decode(MemoryRange rows, MemoryRange lengths) throws CorruptFrameException {
    readKinds();
    for (int word = 0; word < bitsetWords + fields; word++) {
      long[] column = ColumnEncoding.readColumn(in, records);
      if (word >= bitsetWords && kinds[word - bitsetWords] != KIND_WORD) {
        sizesToWords(column, kinds[word - bitsetWords]);
      }
      words.add(column);
    }
    readTailLengths();
    long[] starts = placeRows(lengths);
    rows.clear(0, decodedBytes);
    writeWords(rows, starts);
    if (tails != null) {
      VarData.read(in, tailSlots(starts), rows);
    }
    for (int field = 0; field < fields; field++) {
      if (kinds[field] != KIND_WORD) {
        VarData.read(in, fieldSlots(field, starts), rows);
      }
    }
  }

  private void readKinds() throws CorruptFrameException {
    long at = in.take((fields + KINDS_IN_BYTE - 1) / KINDS_IN_BYTE, "field kinds");
    for (int field = 0; field < fields; field++) {
      int packed = in.memory().getByte(at + field / KINDS_IN_BYTE);
      kinds[field] = packed >> KIND_BITS * (field % KINDS_IN_BYTE) & 3;
      if (kinds[field] > KIND_VARIABLE_16) {
        throw new CorruptFrameException("unknown field kind " + kinds[field]);
      }
    }
  }

  /** Makes the words of a field of variable length out of its size codes. */
  private void sizesToWords(long[] column, int kind) throws CorruptFrameException {
    for (int row = 0; row < records; row++) {
      if (column[row] == 0) {
        continue;
      }
      long size = column[row] - 1;
      long start = ends[row];
      if (size < 0 || size > LOW_HALF) {
        throw new CorruptFrameException("a value of " + Long.toUnsignedString(size) + " bytes");
      }
      ends[row] += slotBytes(kind, size);
      if (ends[row] > decodedBytes) {
        throw new CorruptFrameException(
            "a value reaches " + ends[row] + " bytes into a row, its frame has " + decodedBytes);
      }
      column[row] = start << Integer.SIZE | size;
    }
  }

  private static long slotBytes(int kind, long size) {
    return kind == KIND_VARIABLE_16 ? WIDE_SLOT_BYTES : (size + Long.BYTES - 1) / Long.BYTES * Long.BYTES;
  }

  private void readTailLengths() throws CorruptFrameException {
    int present = in.readByte("the flag of tails");
    if (present > 1) {
      throw new CorruptFrameException("the flag of tails is " + present);
    }
    if (present == 0) {
      return;
    }
    tails = ColumnEncoding.readColumn(in, records);
    for (long tail : tails) {
      if (tail < 0 || tail > decodedBytes) {
        throw new CorruptFrameException(
            "a tail of " + Long.toUnsignedString(tail) + " bytes, its frame has " + decodedBytes);
      }
    }
  }

  private long rowBytes(int row) {
    return ends[row] + (tails == null ? 0 : tails[row]);
  }

  /** Writes the rows' lengths: where each row begins. */
  private long[] placeRows(MemoryRange lengths) throws CorruptFrameException {
    long[] starts = new long[records];
    long total = 0;
    for (int row = 0; row < records; row++) {
      long bytes = rowBytes(row);
      starts[row] = total;
      total += bytes;
      JavaFrameDecoder.checkRow(bytes, total, decodedBytes);
      lengths.putNativeInt((long) row * Integer.BYTES, (int) bytes);
    }
    JavaFrameDecoder.checkTotal(total, decodedBytes);
    return starts;
  }

  private void writeWords(MemoryRange rows, long[] starts) {
    for (int word = 0; word < words.size(); word++) {
      long[] column = words.get(word);
      for (int row = 0; row < records; row++) {
        rows.putNativeLong(starts[row] + (long) word * Long.BYTES, column[row]);
      }
    }
  }

  private Slots tailSlots(long[] starts) {
    Slots slots = new Slots(records);
    for (int row = 0; row < records; row++) {
      slots.add(starts[row] + ends[row], (int) tails[row], (int) tails[row]);
    }
    return slots;
  }

  private Slots fieldSlots(int field, long[] starts) {
    long[] column = words.get(bitsetWords + field);
    Slots slots = new Slots(records);
    for (int row = 0; row < records; row++) {
      long word = column[row];
      if (word == 0) {
        slots.add(starts[row], 0, 0);
        continue;
      }
      int length = (int) slotBytes(kinds[field], word & LOW_HALF);
      slots.add(starts[row] + (word >>> Integer.SIZE), length,
          kinds[field] == KIND_VARIABLE_16 ? length : (int) (word & LOW_HALF));
    }
    return slots;
  }
}
