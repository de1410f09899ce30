package io.sluice.nativebridge;

/**
 * The calls into the native core, one static method each, primitives only. The boundary is crossed per
 * page, frame or block, never per record.
 *
 * <p><b>Results.</b> A value {@code >= 0} is a result; a value {@code < 0} is one of the reasons below, and
 * {@link #lastErrorMessage()} on the same thread says what failed, where, and what to do.
 *
 * <p><b>Ownership.</b> Memory from {@link #lease} belongs to the caller until {@link #release}. A writer
 * handle carries a generation: using it after {@link #writerClose} is {@link #STALE_HANDLE}, never a crash.
 *
 * <p><b>Threads.</b> Every method may be called from any thread. Calls on one writer are serialised inside,
 * except that several {@link #writerEncode} calls may run at once.
 */
public final class NativeCore {
  /** The version of this contract; the library must answer the same from {@link #abiVersion}. */
  public static final int ABI_VERSION = 7;

  /** The arena's limit is reached (or the system has no memory). */
  public static final int NO_MEMORY = -1;
  /** The bytes are not a frame this version can read: corrupt, truncated or of another version. */
  public static final int CORRUPT = -2;
  /** An operating system call failed; the message has the path and errno. */
  public static final int IO = -3;
  /** The handle was closed or never existed. */
  public static final int STALE_HANDLE = -4;
  /** An argument is out of range; a bug in the caller. */
  public static final int INVALID = -5;
  /** The native core panicked; the writer concerned is failed, the process goes on. */
  public static final int PANIC = -6;
  /** The file system is full (ENOSPC, EDQUOT) or not writable (EROFS, EACCES): another directory may help. */
  public static final int DISK_FULL = -7;

  /** Checksum algorithms of {@link #writerCommit}; the names are those of Spark's setting. */
  public static final int CHECKSUM_NONE = 0;
  public static final int CHECKSUM_ADLER32 = 1;
  public static final int CHECKSUM_CRC32 = 2;
  public static final int CHECKSUM_CRC32C = 3;

  /** General compression inside frames, for {@link #writerOpen}. */
  public static final int CODEC_NONE = 0;
  public static final int CODEC_LZ4 = 1;
  public static final int CODEC_ZSTD = 2;
  public static final int CODEC_SNAPPY = 3;

  /** {@link #writerOpen} level: rows verbatim, no encoding at all ({@code spark.shuffle.compress=false}). */
  public static final int LEVEL_PLAIN = 0;
  /** {@link #writerOpen} level: columnar encodings; general compression only where it is clearly worth it. */
  public static final int LEVEL_FAST = 1;
  /** {@link #writerOpen} level: as fast, and general compression of long byte columns too. */
  public static final int LEVEL_SMALL = 2;

  private NativeCore() {}

  /** The library's {@link #ABI_VERSION}. */
  public static native int abiVersion();

  /** One line for the log: version, instruction set chosen, page size. */
  public static native String describe();

  /** The message of the last negative result on this thread; never null. */
  public static native String lastErrorMessage();

  /**
   * Sets the arena's limit in bytes; call once before the first lease, later calls may raise or lower it
   * (memory already leased stays valid).
   */
  public static native int setMemoryLimit(long bytes);

  /** Leases at least {@code bytes} of arena memory, 64-byte aligned, contents undefined: its address. */
  public static native long lease(long bytes);

  /** Gives a lease back. An address that is not leased is {@link #INVALID} and changes nothing. */
  public static native int release(long address);

  /** Bytes now leased from the arena (page leases, run memory and scratch alike), and those of received blocks. */
  public static native long leasedBytes();

  /** Bytes the arena, and that of received blocks, hold from the operating system. */
  public static native long reservedBytes();

  /** Checks the invariants of both arenas: 0, or {@link #INVALID} with what is broken as the message. For tests. */
  public static native int checkArena();

  /**
   * Opens the map output of one task.
   *
   * @param partitions 1 to 16,777,216
   * @param codec a {@code CODEC_} constant
   * @param level a {@code LEVEL_} constant
   * @param rowChecksums whether {@link #writerRowChecksum} will be asked for
   * @return a handle
   */
  public static native long writerOpen(int partitions, int codec, int level, boolean rowChecksums);

  /**
   * Encodes sealed pages to a run of frames, partition by partition, and keeps the run in the writer.
   * The pages are only read; the caller releases them afterwards.
   *
   * <p>A page is slotted: rows from its start upward, each 8-byte aligned and a multiple of 8 long, without
   * gaps; 8-byte entries from its end downward, in insertion order. Entry {@code i} lies at
   * {@code address + capacity - 8 * (i + 1)}: low 32 bits the row's offset, high 32 bits its partition.
   *
   * @param sequence the run's place in the task's order of records: runs may be encoded out of order and at
   *     once, the output has them in this order
   * @param pages per page four longs: address, capacity, bytes of rows, number of entries
   * @return bytes of memory that the run now holds
   */
  public static native long writerEncode(long writer, long sequence, int fields, long[] pages);

  /**
   * Spark's row-based checksum of all rows encoded so far: of all partitions together, whatever the rows' order.
   *
   * @param checksum its first element is set; a result of the method itself would leave no value for an error
   */
  public static native int writerRowChecksum(long writer, long[] checksum);

  /** Bytes of arena memory that the writer's runs hold. */
  public static native long writerMemoryBytes(long writer);

  /**
   * Writes all runs now in memory to a new file at {@code path} and frees their memory. The file belongs to
   * the caller, who deletes it after commit or close. On failure the runs stay in memory, so another
   * directory can be tried.
   *
   * @return bytes written; 0 (and no file) when there was nothing in memory
   */
  public static native long writerSpill(long writer, String path);

  /**
   * Writes the whole map output, partition-major, to {@code path} (created or truncated), and frees the
   * runs. On failure the runs stay, and the call can be repeated.
   *
   * @param lengths filled with the bytes of each partition; one element per partition
   * @param checksums filled with Spark's checksum of each partition; may be null with CHECKSUM_NONE
   * @return total bytes
   */
  public static native long writerCommit(
      long writer, String path, int checksumAlgorithm, long[] lengths, long[] checksums);

  /** Frees the writer and everything it holds. Safe while other calls on it run: they fail or finish. */
  public static native int writerClose(long writer);

  /**
   * Verifies and decodes one whole frame (header and payload) of the {@code rows} path.
   *
   * @param source address of the frame, {@code sourceBytes} long (exactly header + payload)
   * @param target where the rows go, back to back, each a multiple of 8 bytes long
   * @param targetBytes room at target; at least the header's decoded length
   * @param rowLengths where one int per row goes: its length in bytes
   * @return number of rows, or {@link #CORRUPT}
   */
  public static native long decodeRows(
      long source, long sourceBytes, long target, long targetBytes, long rowLengths);
}
