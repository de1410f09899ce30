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
 * <p><b>Threads.</b> Every method may be called from any thread. On one writer {@link #writerEncode} and {@link
 * #writerSpill} may run at once, any number of them. {@link #writerCommit} must be alone: while an encode or a spill is
 * under way on another thread it is refused with {@link #WRONG_PHASE}, and so is every encode, spill and commit during
 * and after a commit that succeeds. A commit in parts ({@link #writerBeginParts}) goes on beside encodes.
 */
public final class NativeCore {
  /** The version of this contract; the library must answer the same from {@link #abiVersion}. */
  public static final int ABI_VERSION = 22;

  /** The arena's limit is reached (or the system has no memory). */
  public static final int NO_MEMORY = -1;
  /** The bytes are not a frame this version can read: corrupt, truncated or of another version. */
  public static final int CORRUPT = -2;
  /**
   * A system call failed for a reason that would be the same in another directory; the message has the path and errno.
   */
  public static final int IO = -3;
  /** The handle was closed or never existed. */
  public static final int STALE_HANDLE = -4;
  /** An argument is out of range; a bug in the caller. */
  public static final int INVALID = -5;
  /**
   * The native core panicked; the process continues. A writer whose encode, spill or commit panicked has failed: such
   * calls on it return {@link #WRONG_PHASE} from then on.
   */
  public static final int PANIC = -6;
  /** The file system is full (ENOSPC, EDQUOT): a directory on another one may help. */
  public static final int DISK_FULL = -7;

  /**
   * The writer cannot take this call now (a commit beside an encode or a spill), or ever again (it is committed, or has
   * failed by a {@link #PANIC}). Nothing was changed; a bug in the caller, except after a panic.
   */
  public static final int WRONG_PHASE = -12;

  /**
   * The directory of a file that was to be written is missing or not writable, or its device fails (ENOENT, EACCES,
   * EROFS, EIO and the like): another directory may help. {@link #lastErrorDirectory} names it.
   */
  public static final int DIRECTORY_FAILED = -13;

  /** A sealed frame is whole, but was not sealed with the given key for the given map output. */
  public static final int NOT_AUTHENTIC = -15;

  /** {@link NativeColumns} has no way for such columns, or such values; their rows must go another way. */
  public static final int UNSUPPORTED = -16;

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

  /** One line for the log: version, machine, instruction set chosen. */
  public static native String describe();

  /** The message of the last negative result on this thread; never null. */
  public static native String lastErrorMessage();

  /**
   * The directory that the last negative result on this thread is about, with {@link #DISK_FULL} and {@link
   * #DIRECTORY_FAILED}; else empty, never null.
   */
  public static native String lastErrorDirectory();

  /**
   * Sets the arena's limit in bytes; call once before the first lease, later calls may raise or lower it
   * (memory already leased stays valid).
   */
  public static native int setMemoryLimit(long bytes);

  /** Leases at least {@code bytes} of arena memory, 64-byte aligned, contents undefined: its address. */
  public static native long lease(long bytes);

  /** Gives a lease back. An address that is not leased is {@link #INVALID} and changes nothing. */
  public static native int release(long address);

  /**
   * Bytes now leased from both arenas, roundings included: what {@link #lease} gave (pages, frames, decoded rows), the
   * encoded runs of all writers, the arrays of sorts and the read buffers of commits while they run, and received
   * blocks. Not in it: {@link #scratchBytes}, memory files, and what is mapped for peers that read here.
   */
  public static native long leasedBytes();

  /**
   * Bytes of heap outside the arenas that the native core holds now: the scratch memory of encoders and decoders of all
   * threads and of {@link NativeColumns#decoderOpen} (between two calls at most 4 MiB each, 8 MiB for a decoder of
   * {@link NativeColumns}; while a call runs, the most that it can need), the indexes of runs (16 bytes for each
   * partition with rows, also of spilled runs), the row checksums of writers (16 bytes a partition), and read buffers
   * of commits where the arena was at its limit. Not in it: what {@link NativeColumns} says is counted nowhere.
   */
  public static native long scratchBytes();

  /**
   * Gives free memory of both arenas back to the operating system; it stays mapped, without pages.
   *
   * @param all all of it, at once: for times when no lease is expected soon. Else at most 64 MiB of what no lease has
   *     used for 5 to 10 s, and nothing when the arenas have looked for such memory themselves within 5 s
   * @return bytes given back with {@code all}
   */
  public static native long purge(boolean all);

  /** Bytes the arena, and that of received blocks, hold from the operating system. */
  public static native long reservedBytes();

  /** The names of the values of {@link #arenaStatistics}, in their order, separated by commas. */
  static native String arenaStatisticsNames();

  /**
   * The figures of an arena at this moment.
   *
   * @param received whether it is the arena of received blocks
   * @param values one for each of {@link #arenaStatisticsNames}
   */
  static native int arenaStatistics(boolean received, long[] values);

  /** The figures, at this moment, of the arena that {@link #lease} and the writers take memory from. */
  public static ArenaStatistics arenaStatistics() {
    return ArenaStatistics.now(false);
  }

  /** The figures, at this moment, of the arena of blocks that were read one-sidedly. */
  public static ArenaStatistics receiveArenaStatistics() {
    return ArenaStatistics.now(true);
  }

  /**
   * Checks the invariants of both arenas: 0, or {@link #INVALID} with the broken invariant as the message. For tests.
   */
  public static native int checkArena();

  /**
   * Opens the map output of one task.
   *
   * @param partitions 1 to 16,777,216
   * @param codec a {@code CODEC_} constant
   * @param level a {@code LEVEL_} constant
   * @param rowChecksums whether {@link #writerRowChecksum} will be asked for
   * @param sealIds null when frames are not sealed; else the shuffle's id, the map output's id, and a random number
   *     that no other sealer of this map output has
   * @param sealKeys null when frames are not sealed; else the key of frames (16 or 32 bytes), then that of end marks
   * (32)
   * @return a handle
   */
  public static native long writerOpen(
      int partitions, int codec, int level, boolean rowChecksums, long[] sealIds, byte[] sealKeys);

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
   * As {@link #writerEncode}, by the GPU of {@link NativeGpu#encodeFor} if there is one and it does not decline. The
   * call may wait for the GPU, and does not return while its driver does not: for a thread without which a task can
   * end.
   */
  public static native long writerEncodeAccelerated(long writer, long sequence, int fields, long[] pages);

  /**
   * How many calls of {@link #writerEncodeAccelerated} wait for the GPU. Those that it has declined, and whose threads
   * encode, are not among them.
   */
  public static native int writerWaitingForAccelerator(long writer);

  /** How many batches of {@link #writerEncodeAccelerated} the GPU has encoded. */
  public static native long writerAcceleratedBatches(long writer);

  /**
   * The most memory that {@link #writerEncode} takes for a batch until it returns, pages not included: at most
   *
   * <ul>
   *   <li>leased: the bytes of the rows, 4 bytes a row and 32 a frame, 64 if sealed, for the run; 16 bytes for each of
   *       at most 1,048,576 rows and 4 bytes a partition for the sort; an eighth more for rounding;
   *   <li>of {@link #scratchBytes}: about three times the longest row, 128 bytes a field and 6 MiB for the encoder; 16
   *       bytes, with row checksums 40, for each partition that has rows.
   * </ul>
   *
   * @param rowBytes of all rows
   * @param longestRow bytes of the longest row
   * @param needs set to two numbers: bytes leased, and bytes of {@link #scratchBytes}
   */
  public static native int writerEncodeNeeds(
      long writer, long rowBytes, long rows, long longestRow, int fields, long[] needs);

  /**
   * Spark's row-based checksum of all rows encoded so far: of all partitions together, whatever the rows' order.
   *
   * @param checksum its first element is set; a result of the method itself would leave no value for an error
   */
  public static native int writerRowChecksum(long writer, long[] checksum);

  /**
   * Adds a run that the caller has written: the frame of one row, {@code bytes} from {@code start} on in the file at
   * {@code path}. They must stay as they are until the writer is committed or closed; the caller deletes the file
   * then. It may grow.
   *
   * @param sequence as for {@link #writerEncode}
   * @param partition the row's
   * @param rowHash XXH64 of the row with seed 0; read only by a writer that keeps checksums of rows
   * @param seal the frame's last {@link FrameHeader#SEAL_BYTES}; null when frames are not sealed
   */
  public static native int writerAddRow(
      long writer, long sequence, int partition, String path, long start, long bytes, long rowHash, byte[] seal);

  /** Bytes of arena memory that the writer's runs hold, those included that a spill is writing at this moment. */
  public static native long writerMemoryBytes(long writer);

  /** Frames that the writer made and threw away, because the arena had no room for them; it made them again later. */
  public static native long writerFramesRepeated(long writer);

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
   * runs; the writer then takes no more rows. On failure the runs stay, and the call can be repeated.
   *
   * @param lengths filled with the bytes of each partition; one element per partition
   * @param checksums filled with Spark's checksum of each partition; may be null with CHECKSUM_NONE
   * @return total bytes
   */
  public static native long writerCommit(
      long writer, String path, int checksumAlgorithm, long[] lengths, long[] checksums);

  /**
   * As {@link #writerEncode}, for the rows of the partitions before {@code until}; the others must be encoded by later
   * calls with the same pages.
   */
  public static native long writerEncodeUntil(long writer, long sequence, int fields, long[] pages, int until);

  /**
   * Begins to write the map output to {@code path} in parts, beside {@link #writerEncodeUntil} of one last batch on
   * another thread. Not for sealed frames. {@link #writerEndParts} or {@link #writerAbortParts} must follow.
   */
  public static native int writerBeginParts(long writer, String path, int checksumAlgorithm);

  /**
   * Writes the partitions before {@code until} that are not written yet, all of whose rows must have been encoded.
   * After a failure {@link #writerAbortParts} must follow.
   */
  public static native int writerCommitPart(long writer, int until);

  /**
   * Ends the commit in parts, all of which are written; arguments and result are those of {@link #writerCommit}. Fails,
   * as if it were aborted, where rows are not written.
   */
  public static native long writerEndParts(long writer, long[] lengths, long[] checksums);

  /** Removes the file of a commit in parts; the runs stay, and a batch that is encoded in part must be encoded. */
  public static native int writerAbortParts(long writer);

  /** Frees the writer and everything it holds. Safe while other calls on it run: they fail or finish. */
  public static native int writerClose(long writer);

  /**
   * Verifies and decodes one whole frame (header and payload) of the {@code rows} path.
   *
   * @param source address of the frame, {@code sourceBytes} long (exactly header + payload)
   * @param target where the rows go, back to back, each a multiple of 8 bytes long
   * @param targetBytes room at target; at least the header's decoded length
   * @param rowLengths where one int per row goes: its length in bytes
   * @param rowLengthsCapacity for how many ints there is room there; a frame of more rows is {@link #CORRUPT}
   * @return number of rows, or {@link #CORRUPT}
   */
  public static native long decodeRows(
      long source, long sourceBytes, long target, long targetBytes, long rowLengths, int rowLengthsCapacity);

  /**
   * As {@link #decodeRows}, of a sealed frame, which is decrypted where it is: {@code source} holds no frame
   * afterwards.
   *
   * @param shuffleId of the map output that the frame must have been sealed for
   * @param mapId of the same map output
   * @param key of its frames, 16 or 32 bytes
   * @return number of rows, {@link #CORRUPT} or {@link #NOT_AUTHENTIC}
   */
  public static native long decodeSealedRows(long source, long sourceBytes, long target, long targetBytes,
      long rowLengths, int rowLengthsCapacity, int shuffleId, long mapId, byte[] key);

  /**
   * Verifies one whole sealed frame and puts the frame that was sealed in its place, which is shorter.
   *
   * @param frame its address, {@code frameBytes} long (exactly header + payload); after an error it holds no frame
   * @param shuffleId of the map output that the frame must have been sealed for
   * @param mapId of the same map output
   * @param key of its frames, 16 or 32 bytes
   * @return bytes of the frame that is there now, {@link #CORRUPT} or {@link #NOT_AUTHENTIC}
   */
  public static native long unsealFrame(long frame, long frameBytes, int shuffleId, long mapId, byte[] key);
}
