package io.sluice.spark.seal;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import io.sluice.nativebridge.FrameNotAuthenticException;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.util.Arrays;
import java.util.zip.CRC32C;

/**
 * Reads the headers and seals of a partition's frames up to its end mark, and checks this, before rows of the partition
 * come out: who stops early has then read frames that the map task wrote, in their order, from the first one on. Keeps
 * a partition's seals, {@link FrameHeader#SEAL_BYTES} bytes a frame; payloads are passed over. One thread.
 */
final class SealsAhead implements AutoCloseable {
  /** Of one partition of one map output. With frames of 128 KiB of rows this is 128 GiB. */
  static final int MOST_FRAMES = 1 << 20;
  /** Read at once: a frame's seal, the next header, and whole frames that are small. */
  private static final int WINDOW_BYTES = 4096;
  private static final int DAMAGE_BYTES = 64 << 10;

  private final PositionedBytes bytes;
  /** Of the frames and end marks that were passed over here. */
  private final SealedBlock order;
  private final byte[] window = new byte[WINDOW_BYTES];
  private long windowStart;
  private int windowBytes;
  private long offset;

  /** @param bytes closed with this */
  SealsAhead(PositionedBytes bytes, SealedBlock order) {
    this.bytes = bytes;
    this.order = order;
  }

  /**
   * Moves behind the next partition's end mark.
   *
   * @return the seals of the partition's frames, one behind the other
   * @throws FrameNotAuthenticException when they are not those that the map task wrote, in their order
   * @throws CorruptFrameException when they are damaged
   */
  byte[] nextPartition() throws IOException {
    long start = offset;
    ByteArrayOutputStream seals = new ByteArrayOutputStream();
    try {
      while (passOver(seals)) {
        if (seals.size() > MOST_FRAMES * FrameHeader.SEAL_BYTES) {
          throw new CorruptFrameException("more than " + MOST_FRAMES + " sealed frames of one partition");
        }
      }
    } catch (FrameNotAuthenticException e) {
      // A seal, of which nothing tells whether it is damaged, is covered by the checksum of its frame.
      failIfDamaged(start);
      throw e;
    }
    return seals.toByteArray();
  }

  /** Moves over a frame, or over the end mark; whether it was a frame. */
  private boolean passOver(ByteArrayOutputStream seals) throws IOException {
    if (available(offset, FrameHeader.BYTES) == 0) {
      order.end();
    }
    FrameHeader header = FrameHeader.parse(part(offset, FrameHeader.BYTES, offset), 0);
    long end = offset + FrameHeader.BYTES + header.encodedBytes();
    if (header.isEndMark()) {
      byte[] payload = part(end - header.encodedBytes(), FrameHeader.END_MARK_PAYLOAD_BYTES, offset);
      order.endMark(header, payload);
    } else if (header.isSealed()) {
      byte[] seal = part(end - FrameHeader.SEAL_BYTES, FrameHeader.SEAL_BYTES, offset);
      order.frame(seal);
      seals.write(seal, 0, seal.length);
    } else {
      throw new FrameNotAuthenticException(
          "a frame that is not sealed follows, though spark.io.encryption.enabled is true");
    }
    offset = end;
    return header.isSealed();
  }

  /** Fails with the first frame or end mark from {@code start} to {@link #offset} whose checksum is wrong. */
  private void failIfDamaged(long start) throws IOException {
    byte[] some = new byte[DAMAGE_BYTES];
    for (long at = start; at <= offset && available(at, FrameHeader.BYTES) > 0;) {
      FrameHeader header = FrameHeader.parse(part(at, FrameHeader.BYTES, at), 0);
      long payload = at + FrameHeader.BYTES;
      long end = payload + header.encodedBytes();
      CRC32C checksum = new CRC32C();
      while (payload < end) {
        int count = (int) Math.min(end - payload, bytes.read(payload, some));
        if (count == 0) {
          throw endsInside(at);
        }
        checksum.update(some, 0, count);
        payload += count;
      }
      if ((int) checksum.getValue() != header.payloadCrc()) {
        throw new CorruptFrameException("the frame at byte " + at + " has the payload checksum 0x"
            + Integer.toHexString(header.payloadCrc()) + ", its bytes give 0x"
            + Long.toHexString(checksum.getValue()));
      }
      at = end;
    }
  }

  private byte[] part(long position, int count, long frame) throws IOException {
    if (available(position, count) < count) {
      throw endsInside(frame);
    }
    int at = (int) (position - windowStart);
    return Arrays.copyOfRange(window, at, at + count);
  }

  /** Has the bytes from {@code position} on in the window, up to {@code wanted} of them; how many there are. */
  private int available(long position, int wanted) throws IOException {
    if (position < windowStart || position + wanted > windowStart + windowBytes) {
      windowStart = position;
      windowBytes = 0;
      windowBytes = bytes.read(position, window);
    }
    return (int) Math.min(wanted, windowStart + windowBytes - position);
  }

  private static EOFException endsInside(long frame) {
    return new EOFException("the block ends inside the frame that begins at byte " + frame);
  }

  @Override
  public void close() throws IOException {
    bytes.close();
  }
}
