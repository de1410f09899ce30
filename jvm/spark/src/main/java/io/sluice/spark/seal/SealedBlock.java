package io.sluice.spark.seal;

import io.sluice.nativebridge.FrameHeader;
import io.sluice.nativebridge.FrameNotAuthenticException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.util.Arrays;

/**
 * Checks that a block has exactly the frames that the map task wrote for the block's partitions, in their order. Each
 * frame must be of the partition whose turn it is; a partition's end mark must fit the seals of the frames before it;
 * and at the block's end every partition that has rows, as the driver knows, must have had its end mark. That the
 * frames fit their seals is checked where they are decoded. Where the block can be read by position, a partition's end
 * mark is checked with its first frame, and each frame must then have the seal that this has read. One thread.
 */
public final class SealedBlock implements AutoCloseable {
  private final OutputKeys keys;
  /** Ascending. */
  private final int[] partitions;
  private int turn;
  /** Of the partition whose turn it is; null before its first frame. */
  private EndMark mark;
  /** Null where seals are not read ahead. */
  private final SealsAhead ahead;
  /** Of the partition whose turn it is, as they were read ahead. */
  private byte[] seals;
  private int checkedBytes;

  /** A block whose end marks are checked when they come. */
  public SealedBlock(OutputKeys keys, int[] partitions) {
    this(keys, partitions, null);
  }

  /**
   * A block.
   *
   * @param partitions those of the block that have rows, ascending
   * @param bytes of the block, closed with this; null when they can be read once only
   */
  public SealedBlock(OutputKeys keys, int[] partitions, PositionedBytes bytes) {
    this.keys = keys;
    this.partitions = partitions;
    this.ahead = bytes == null ? null : new SealsAhead(bytes, new SealedBlock(keys, partitions));
  }

  /** The keys with which the block's frames are opened. */
  public OutputKeys keys() {
    return keys;
  }

  /**
   * The block's next frame has this seal; its rows have not been given to anybody.
   *
   * @throws IOException when the block cannot be read ahead, or is damaged before the partition's end mark
   */
  public void frame(byte[] seal) throws IOException {
    expect(partitionAt(seal, FrameHeader.SEAL_BYTES), "a frame");
    if (mark == null) {
      mark = keys.endMark(partitions[turn]);
      checkedBytes = 0;
      seals = ahead == null ? null : ahead.nextPartition();
    }
    if (seals != null) {
      expectSeal(seal);
    }
    mark.add(seal);
  }

  private void expectSeal(byte[] seal) throws FrameNotAuthenticException {
    int end = checkedBytes + FrameHeader.SEAL_BYTES;
    if (end > seals.length || !Arrays.equals(seals, checkedBytes, end, seal, 0, FrameHeader.SEAL_BYTES)) {
      throw new FrameNotAuthenticException(
          "frames of partition " + partitions[turn] + " were changed while the task read them");
    }
    checkedBytes = end;
  }

  /** An end mark with this header and payload comes next. */
  public void endMark(FrameHeader header, byte[] payload) throws FrameNotAuthenticException {
    if (!header.equals(FrameHeader.endMark(payload))) {
      throw new FrameNotAuthenticException("an end mark's header that no map task writes: " + header);
    }
    expect(partitionAt(payload, FrameHeader.END_MARK_PAYLOAD_BYTES), "the end mark");
    if (mark == null || !MessageDigest.isEqual(mark.finishMac(), Arrays.copyOf(payload, EndMark.MAC_BYTES))) {
      throw new FrameNotAuthenticException("frames of partition " + partitions[turn]
          + " are missing, in another order, or there twice");
    }
    mark = null;
    turn++;
  }

  /** The block ends here. */
  public void end() throws FrameNotAuthenticException {
    if (turn < partitions.length) {
      throw new FrameNotAuthenticException("the block ends before the end mark of partition " + partitions[turn]);
    }
  }

  private void expect(int partition, String what) throws FrameNotAuthenticException {
    if (turn == partitions.length) {
      throw new FrameNotAuthenticException(what + " of partition " + partition + " behind the block's last partition");
    }
    if (partition != partitions[turn]) {
      throw new FrameNotAuthenticException(
          what + " of partition " + partition + " where one of partition " + partitions[turn] + " must be");
    }
  }

  @Override
  public void close() throws IOException {
    if (ahead != null) {
      ahead.close();
    }
  }

  private static int partitionAt(byte[] bytes, int end) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getInt(end - Integer.BYTES);
  }
}
