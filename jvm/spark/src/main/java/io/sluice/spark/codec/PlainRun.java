package io.sluice.spark.codec;

import io.sluice.nativebridge.Arena;
import io.sluice.nativebridge.FrameHeader;
import io.sluice.nativebridge.Lease;
import io.sluice.spark.seal.FrameSealer;
import io.sluice.spark.seal.SealsDigest;
import java.security.MessageDigest;

/**
 * A batch of rows as plain frames, partition after partition, in memory of an arena. Owns the memory until {@link
 * #close}. Made by one thread; then only read.
 */
public final class PlainRun implements AutoCloseable {
  /** Rows of a frame, unless one row alone is larger: small enough that readers need little memory for a frame. */
  private static final long MAX_ROW_BYTES = 128 * 1024;
  private static final int MAX_RECORDS = 1 << 16;

  private static final int SEAL_CHUNK_BYTES = 64 * 1024;
  private static final long[] NO_HASHES = {};

  private final Lease lease;
  private final MemoryRange memory;
  private final FrameIndex index;
  /** XOR and sum of the hashes of each partition's rows; empty when not wanted, and after {@link #moveHashesTo}. */
  private long[] xors;
  private long[] sums;

  /** Null when frames are not sealed. */
  private final FrameSealer sealer;
  /** Of all frames; null when they are not sealed. */
  private final MessageDigest seals;

  private PlainRun(Lease lease, int count, boolean rowHashes, FrameSealer sealer) {
    this.lease = lease;
    this.sealer = sealer;
    this.seals = sealer == null ? null : SealsDigest.start();
    this.memory = new MemoryRange(lease.address(), lease.bytes());
    this.index = new FrameIndex(count);
    this.xors = new long[rowHashes ? count : 0];
    this.sums = new long[rowHashes ? count : 0];
  }

  /**
   * Makes frames of {@code rows}; null when the arena refuses the memory.
   *
   * @param partitions of the shuffle
   * @param rowHashes whether {@link RowHashes} will be made of this run
   * @param sealer null when frames are not sealed
   */
  public static PlainRun of(RowsByPartition rows, int fields, int partitions, Arena arena, boolean rowHashes,
      FrameSealer sealer) {
    int count = 0;
    long bytes = 0;
    for (int partition = 0; partition < partitions; partition++) {
      int end = rows.end(partition);
      count += rows.start(partition) < end ? 1 : 0;
      for (int row = rows.start(partition); row < end;) {
        int next = frameEnd(rows, row, end);
        bytes += FrameHeader.BYTES + payloadBytes(rows, row, next) + sealBytes(sealer != null);
        row = next;
      }
    }
    Lease lease = arena.tryTake(bytes);
    if (lease == null) {
      return null;
    }
    boolean written = false;
    try {
      PlainRun run = new PlainRun(lease, count, rowHashes, sealer);
      run.write(rows, fields, partitions);
      written = true;
      return run;
    } finally {
      if (!written) {
        lease.close();
      }
    }
  }

  /** The most bytes that the frames of so many rows take. */
  public static long mostBytes(long rowBytes, long rows, int partitions, boolean sealed) {
    // Two frames of a partition that follow each other hold more than MAX_ROW_BYTES, or the first holds MAX_RECORDS.
    long frames = Math.min(rows, partitions + 2 * (rowBytes / MAX_ROW_BYTES) + rows / MAX_RECORDS);
    return rowBytes + Integer.BYTES * rows + (FrameHeader.BYTES + sealBytes(sealed)) * frames;
  }

  private static int sealBytes(boolean sealed) {
    return sealed ? FrameHeader.SEAL_BYTES : 0;
  }

  /** The row behind the last one of a frame that begins with {@code first}. */
  private static int frameEnd(RowsByPartition rows, int first, int end) {
    long bytes = rows.length(first);
    int row = first + 1;
    while (row < end && row - first < MAX_RECORDS && bytes + rows.length(row) <= MAX_ROW_BYTES) {
      bytes += rows.length(row++);
    }
    return row;
  }

  private static long rowBytes(RowsByPartition rows, int first, int end) {
    long bytes = 0;
    for (int row = first; row < end; row++) {
      bytes += rows.length(row);
    }
    return bytes;
  }

  private static long payloadBytes(RowsByPartition rows, int first, int end) {
    return rowBytes(rows, first, end) + (long) Integer.BYTES * (end - first);
  }

  private void write(RowsByPartition rows, int fields, int allPartitions) {
    long at = 0;
    for (int partition = 0; partition < allPartitions; partition++) {
      int end = rows.end(partition);
      if (rows.start(partition) == end) {
        continue;
      }
      for (int row = rows.start(partition); row < end;) {
        int next = frameEnd(rows, row, end);
        at = writeFrame(rows, fields, partition, row, next, at);
        row = next;
      }
      if (xors.length > 0) {
        hash(rows, rows.start(partition), end, index.partitions());
      }
      index.add(partition, at);
    }
  }

  /** Writes the frame of the rows from {@code first} to {@code end}: where it ends. */
  private long writeFrame(RowsByPartition rows, int fields, int partition, int first, int end, long at) {
    long payload = at + FrameHeader.BYTES;
    long place = payload + (long) Integer.BYTES * (end - first);
    for (int row = first; row < end; row++) {
      memory.putInt(payload + (long) Integer.BYTES * (row - first), rows.length(row));
      rows.copyTo(row, memory, place);
      place += rows.length(row);
    }
    FrameHeader header = new FrameHeader(FrameHeader.PATH_ROWS, FrameHeader.ENCODING_PLAIN, 0, end - first, fields,
        rowBytes(rows, first, end), place - payload, 0);
    if (sealer != null) {
      return seal(header, partition, at);
    }
    memory.put(at, header.withPayloadCrc(memory.crc32c(payload, place - payload)).toBytes(), 0, FrameHeader.BYTES);
    return place;
  }

  /** Seals the frame at {@code at} where it is: where it ends. */
  private long seal(FrameHeader plain, int partition, long at) {
    FrameSealer.Frame frame = sealer.start(plain, partition);
    byte[] chunk = new byte[(int) Math.min(SEAL_CHUNK_BYTES, plain.encodedBytes())];
    byte[] sealed = new byte[chunk.length + FrameSealer.Frame.MOST_EXTRA_BYTES];
    long from = at + FrameHeader.BYTES;
    long to = from;
    long end = from + plain.encodedBytes();
    while (from < end) {
      int count = (int) Math.min(chunk.length, end - from);
      memory.get(from, chunk, count);
      from += count;
      // Never beyond what was read.
      to = put(sealed, frame.update(chunk, count, sealed), to);
    }
    byte[] rest = frame.finish();
    to = put(rest, rest.length, to);
    memory.put(at, frame.header(), 0, FrameHeader.BYTES);
    seals.update(frame.seal());
    return to;
  }

  private long put(byte[] bytes, int count, long at) {
    memory.put(at, bytes, 0, count);
    return at + count;
  }

  /** What tells whether a file has this run's frames; null when they are not sealed. Called once. */
  public byte[] sealsDigest() {
    return sealer == null ? null : seals.digest();
  }

  private void hash(RowsByPartition rows, int first, int end, int entry) {
    for (int row = first; row < end; row++) {
      long hash = RowHashes.ofRow(null, rows.address(row), rows.length(row));
      xors[entry] ^= hash;
      sums[entry] += hash;
    }
  }

  /** Adds the hashes of this run's rows to those of the map output, and forgets them. */
  public void moveHashesTo(RowHashes hashes) {
    for (int i = 0; i < xors.length; i++) {
      hashes.add(index.partition(i), xors[i], sums[i]);
    }
    xors = NO_HASHES;
    sums = NO_HASHES;
  }

  /** Which bytes are which partition's; to be used after {@link #close} too. */
  public FrameIndex index() {
    return index;
  }

  /** Bytes of all frames. */
  public long bytes() {
    return memory.bytes();
  }

  /**
   * Copies {@code count} bytes from {@code at} on to {@code target}.
   *
   * @throws IllegalStateException after {@link #close}
   */
  public void get(long at, byte[] target, int count) {
    lease.address();
    memory.get(at, target, count);
  }

  /** Frees the memory. */
  @Override
  public void close() {
    lease.close();
  }
}
