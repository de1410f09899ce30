package io.sluice.nativebridge;

/**
 * The calls into the native core for rows that lie in columns, as engines above Spark have them: batches to pages of
 * rows, which {@link NativeCore#writerEncode} takes, and frames to batches. Results, threads and handles are as {@link
 * NativeCore} says.
 *
 * <p><b>Arrow's structs.</b> Columns come and go by Arrow's C Data Interface, each with an {@code ArrowArray} and an
 * {@code ArrowSchema}. The memory of the structs is the caller's: those of a batch lie behind each other, arrays from
 * one address on, schemas from another, both multiples of 8. What is passed in is taken over, so the structs in memory
 * count as released afterwards, and the producer's callback is called once, in the end or when the call fails; only
 * where an address is 0 or no multiple of 8, or the number of columns is negative, is nothing taken over and no
 * callback called. A callback must not throw. Structs that are all zeros count as released.
 *
 * <p><b>Memory that is counted nowhere.</b> The buffers of what is given out, which are the native core's until the
 * receiver calls the callback. For an open batch 4 bytes a row, and for each value 8 or 16 bytes where a column has to
 * be converted: dictionaries, decimals of up to 18 digits, times and dates in other units. For each thread that copies
 * rows, 260 KiB, or the words of a row if they are more. For ranges, their bounds.
 *
 * <p><b>Types</b> are Arrow's format strings, one a line; {@code docs/engines.md} has those that there are.
 */
public final class NativeColumns {
  /** Partitions, for {@link #batchOpen}: all rows in partition 0. Their number must not be negative; none follow. */
  public static final int SINGLE = 0;
  /** Partitions by Spark's hash; the numbers of the key columns follow. */
  public static final int HASH = 1;
  /**
   * Partitions in turn; the number follows that Spark's counter has before the first row. The caller carries the
   * counter from batch to batch: it grows by the rows of each and wraps as an int. A task that runs again must give
   * each row the same partition, so its rows must come in the same order.
   */
  public static final int ROUND_ROBIN = 2;
  /** Partitions by ranges of an order; a handle of {@link #rangesOpen} follows. */
  public static final int RANGE = 3;

  private NativeColumns() {}

  /** Bytes of an {@code ArrowArray}. */
  public static native int arrayBytes();

  /** Bytes of an {@code ArrowSchema}. */
  public static native int schemaBytes();

  /** Releases what is not released yet of the structs of so many columns. */
  public static native int releaseStructs(long arrays, long schemas, int columns);

  /**
   * The address of a release callback for arrays whose buffers the caller frees itself, after {@link #batchClose}: it
   * only marks the array as released.
   */
  public static native long callersArrayRelease();

  /** The same for schemas whose strings are the caller's. */
  public static native long callersSchemaRelease();

  /**
   * Takes over a batch, checks it, and finds the partition of each row. Until {@link #batchClose} its buffers must not
   * be written to.
   *
   * @param rows of each column
   * @param types of which the columns' values must be; in which layout, and whether in a dictionary, is theirs
   * @param partitioning one of the kinds above, the number of partitions, and what follows for the kind
   * @return a handle; {@link NativeCore#UNSUPPORTED} when the rows must go another way, for their types or for a value
   *     that no row can hold in this form; {@link NativeCore#INVALID} when structs and arguments contradict each other
   */
  public static native long batchOpen(
      long arrays, long schemas, int columns, int rows, String types, long[] partitioning);

  /**
   * Copies rows to a page as {@link NativeCore#writerEncode} wants it, as many as there is room for.
   *
   * @param first the batch's first row that is not copied yet
   * @param filled bytes of rows and number of entries that the page has; changed to what it has then
   * @return how many rows were copied; 0 when the next one does not fit: its {@link #batchRowBytes} and 8 must be free
   */
  public static native int batchToPage(long batch, int first, long page, long capacity, long[] filled);

  /** Bytes of a row. */
  public static native long batchRowBytes(long batch, int row);

  /**
   * Bytes of the batch's values as Arrow has them in the types that they came in: values, offsets or views, and a bit a
   * row where a column has nulls. Values of a dictionary count in each row.
   */
  public static native long batchValueBytes(long batch);

  /** The partition of a row. */
  public static native int batchPartition(long batch, int row);

  /** Releases the batch. */
  public static native int batchClose(long batch);

  /**
   * Ranges of an order, for any number of batches, on any thread.
   *
   * @param types of the key columns: what the batches have, or for strings their bytes
   * @param keys three numbers a key, the first key first: its column in the batches, 1 if larger values come first, 1
   *     if nulls come before all values
   * @param rows the bounds, each the highest row of its range, in the order of the ranges, but for the last range,
   *     which has none: rows of Spark's, of the keys alone, one behind the other
   * @param lengths the bytes of each bound
   * @return a handle; {@link NativeCore#UNSUPPORTED} for types without an order, and where the bounds do not rise, so
   *     that their order must be another one
   */
  public static native long rangesOpen(String types, long[] keys, byte[] rows, long[] lengths);

  /** Frees the ranges; batches that were opened with them stay. */
  public static native int rangesClose(long ranges);

  /** A decoder of frames to batches of columns of these types; for one reader, one thread at a time. */
  public static native long decoderOpen(String types);

  /**
   * Decodes whole frames, not sealed, that lie behind each other, to one batch.
   *
   * @param arrays where the columns' arrays go; what is there is overwritten
   * @param schemas where their types go, nullable and without names
   * @return number of rows; {@link NativeCore#CORRUPT}; {@link NativeCore#UNSUPPORTED} when strings are not UTF-8, or
   *     one column has more than 2 GiB of bytes. Nothing is written when it fails
   */
  public static native long decoderDecode(
      long decoder, long source, long sourceBytes, long arrays, long schemas);

  /** Frees the decoder; batches that came from it stay. */
  public static native int decoderClose(long decoder);
}
