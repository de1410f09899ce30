package io.sluice.spark.columnar;

import io.sluice.nativebridge.NativeColumns;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.decode.ReadMemory;
import org.apache.spark.unsafe.Platform;

/**
 * The memory of Arrow's structs for the columns of one batch after the other: arrays, then schemas. All zeros, which
 * count as released, but between an export and the import by the other side. One thread.
 */
public final class ArrowStructs implements AutoCloseable {
  // Offsets in the structs, which are the same on every 64-bit platform.
  private static final int SCHEMA_FORMAT = 0;
  private static final int SCHEMA_FLAGS = 24;
  private static final int SCHEMA_RELEASE = 56;
  private static final int ARRAY_LENGTH = 0;
  private static final int ARRAY_NULLS = 8;
  private static final int ARRAY_BUFFER_COUNT = 24;
  private static final int ARRAY_BUFFERS = 40;
  private static final int ARRAY_RELEASE = 64;
  private static final long NULLABLE = 2;

  private final int columns;
  private final long[] arrays;
  private final long[] schemas;
  private final ReadMemory.Piece memory;
  /** Where the format string of text is. */
  private final long textFormat;

  public ArrowStructs(int columns, ReadMemory source) {
    this.columns = columns;
    this.arrays = new long[columns];
    this.schemas = new long[columns];
    int arrayBytes = NativeColumns.arrayBytes();
    int schemaBytes = NativeColumns.schemaBytes();
    long bytes = (long) columns * (arrayBytes + schemaBytes) + Long.BYTES;
    this.memory = source.take(bytes, "the structs of a batch of columns");
    Platform.setMemory(null, memory.address(), bytes, (byte) 0);
    textFormat = memory.address() + bytes - Long.BYTES;
    Platform.putByte(null, textFormat, (byte) 'u');
    for (int i = 0; i < columns; i++) {
      arrays[i] = memory.address() + (long) arrayBytes * i;
      schemas[i] = memory.address() + (long) arrayBytes * columns + (long) schemaBytes * i;
    }
  }

  public int columns() {
    return columns;
  }

  /** Where the array of each column is. */
  public long[] arrays() {
    return arrays;
  }

  /** Where the schema of each column is. */
  public long[] schemas() {
    return schemas;
  }

  /** The first of the arrays; all follow each other. */
  public long arraysAddress() {
    return memory.address();
  }

  /** The first of the schemas; all follow each other. */
  public long schemasAddress() {
    return memory.address() + (long) NativeColumns.arrayBytes() * columns;
  }

  /** Moves the structs to others, whose contents are overwritten. */
  public void moveTo(long[] otherArrays, long[] otherSchemas) {
    int arrayBytes = NativeColumns.arrayBytes();
    int schemaBytes = NativeColumns.schemaBytes();
    for (int i = 0; i < columns; i++) {
      Platform.copyMemory(null, arrays[i], null, otherArrays[i], arrayBytes);
      Platform.copyMemory(null, schemas[i], null, otherSchemas[i], schemaBytes);
    }
    Platform.setMemory(null, memory.address(), (long) columns * (arrayBytes + schemaBytes), (byte) 0);
  }

  /**
   * Makes a column of bytes one of text, which has the same buffers. The format string is this object's, so it must
   * live until the schema has been read.
   */
  public void callText(int column) {
    Platform.putLong(null, schemas[column], textFormat);
  }

  /**
   * Describes a column whose buffers the caller frees itself, when the batch has been closed. All else in the structs
   * must be 0, as it is where no others were moved in.
   *
   * @param format address of a format string that ends with a 0
   * @param rows values of the column
   * @param nulls how many of them are null; -1 if that is not known
   * @param buffers address of the buffers' addresses
   * @param bufferCount how many buffers there are
   */
  void describe(int column, long format, long rows, long nulls, long buffers, int bufferCount) {
    long schema = schemas[column];
    Platform.putLong(null, schema + SCHEMA_FORMAT, format);
    Platform.putLong(null, schema + SCHEMA_FLAGS, NULLABLE);
    Platform.putLong(null, schema + SCHEMA_RELEASE, Callbacks.SCHEMA);
    long array = arrays[column];
    Platform.putLong(null, array + ARRAY_LENGTH, rows);
    Platform.putLong(null, array + ARRAY_NULLS, nulls);
    Platform.putLong(null, array + ARRAY_BUFFER_COUNT, bufferCount);
    Platform.putLong(null, array + ARRAY_BUFFERS, buffers);
    Platform.putLong(null, array + ARRAY_RELEASE, Callbacks.ARRAY);
  }

  /** Release callbacks for buffers that are not the structs'. */
  private static final class Callbacks {
    static final long ARRAY = NativeColumns.callersArrayRelease();
    static final long SCHEMA = NativeColumns.callersSchemaRelease();
  }

  /** How many values of a column's array are null; -1 if its producer did not count them. */
  long nulls(int column) {
    return Platform.getLong(null, arrays[column] + ARRAY_NULLS);
  }

  int bufferCount(int column) {
    return (int) Platform.getLong(null, arrays[column] + ARRAY_BUFFER_COUNT);
  }

  /** The address of a buffer of a column's array; 0 for a mask of nulls that is not there. */
  long buffer(int column, int buffer) {
    return Platform.getLong(null, Platform.getLong(null, arrays[column] + ARRAY_BUFFERS) + (long) Long.BYTES * buffer);
  }

  /** Releases what nobody has taken over. */
  public void release() {
    NativeException.check(NativeColumns.releaseStructs(arraysAddress(), schemasAddress(), columns));
  }

  @Override
  public void close() {
    try {
      release();
    } finally {
      memory.free();
    }
  }
}
