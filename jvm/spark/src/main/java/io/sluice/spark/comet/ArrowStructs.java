package io.sluice.spark.comet;

import io.sluice.nativebridge.NativeColumns;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.decode.ReadMemory;
import org.apache.spark.unsafe.Platform;

/**
 * The memory of Arrow's structs for the columns of one batch after the other: arrays, then schemas. All zeros, which
 * count as released, but between an export and the import by the other side. One thread.
 */
final class ArrowStructs implements AutoCloseable {
  private final int columns;
  private final long[] arrays;
  private final long[] schemas;
  private final ReadMemory.Piece memory;
  /** Where the format string of text is. */
  private final long textFormat;

  ArrowStructs(int columns, ReadMemory source) {
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

  int columns() {
    return columns;
  }

  /** Where the array of each column is. */
  long[] arrays() {
    return arrays;
  }

  /** Where the schema of each column is. */
  long[] schemas() {
    return schemas;
  }

  /** The first of the arrays; all follow each other. */
  long arraysAddress() {
    return memory.address();
  }

  /** The first of the schemas; all follow each other. */
  long schemasAddress() {
    return memory.address() + (long) NativeColumns.arrayBytes() * columns;
  }

  /** Moves the structs to others, whose contents are overwritten. */
  void moveTo(long[] otherArrays, long[] otherSchemas) {
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
  void callText(int column) {
    Platform.putLong(null, schemas[column], textFormat);
  }

  /** Releases what nobody has taken over. */
  void release() {
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
