package io.sluice.spark.columnar;

import io.sluice.nativebridge.NativeColumns;
import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;

/** Ranges that the native core finds the rows of batches in. For one task; one thread. */
public final class NativeRanges implements AutoCloseable {
  private final long handle;
  private final int partitions;
  private boolean closed;

  private NativeRanges(long handle, int partitions) {
    this.handle = handle;
    this.partitions = partitions;
  }

  /**
   * Null where the bounds are not known, are no rows of these keys, are not in the native core's order, or have 2 GiB.
   *
   * @param bounds rows of the keys, each the highest of its range, but for the last range, which has none; or null
   */
  public static NativeRanges open(RangeKeys keys, UnsafeRow[] bounds) {
    if (bounds == null) {
      return null;
    }
    long[] lengths = new long[bounds.length];
    long bytes = 0;
    for (int i = 0; i < bounds.length; i++) {
      if (bounds[i].numFields() != keys.count()) {
        return null;
      }
      lengths[i] = bounds[i].getSizeInBytes();
      bytes += lengths[i];
    }
    if (bytes > Integer.MAX_VALUE - Long.BYTES) {
      return null;
    }
    long handle = NativeColumns.rangesOpen(keys.types(), keys.keys(), rows(bounds, (int) bytes), lengths);
    return handle == NativeCore.UNSUPPORTED ? null
        : new NativeRanges(NativeException.check(handle), bounds.length + 1);
  }

  private static byte[] rows(UnsafeRow[] bounds, int bytes) {
    byte[] rows = new byte[bytes];
    long at = Platform.BYTE_ARRAY_OFFSET;
    for (UnsafeRow bound : bounds) {
      bound.writeToMemory(rows, at);
      at += bound.getSizeInBytes();
    }
    return rows;
  }

  /** The partitioning, as {@link NativeColumns#batchOpen} takes it. */
  public long[] numbers() {
    return new long[] {NativeColumns.RANGE, partitions, handle};
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      NativeException.check(NativeColumns.rangesClose(handle));
    }
  }
}
