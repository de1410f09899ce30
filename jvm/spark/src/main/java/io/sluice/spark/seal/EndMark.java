package io.sluice.spark.seal;

import io.sluice.nativebridge.FrameHeader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import javax.crypto.Mac;

/**
 * The end mark of one partition of a map output: it follows the last frame, and is bound to the seals of all frames in
 * their order. One thread.
 */
public final class EndMark {
  static final int MAC_BYTES = 16;
  /** Length of an end mark, header included. */
  public static final int BYTES = FrameHeader.BYTES + FrameHeader.END_MARK_PAYLOAD_BYTES;

  private static final int FEWEST_FRAME_BYTES = FrameHeader.BYTES + FrameHeader.SEAL_BYTES;

  private final int partition;
  private final Mac mac;

  EndMark(OutputKeys keys, int partition, byte[] key) {
    this.partition = partition;
    this.mac = Hkdf.mac(key);
    mac.update(keys.place(partition));
  }

  /** The most that the end marks of a map output take whose frames have {@code frameBytes}: none without a frame. */
  public static long mostBytes(int partitions, long frameBytes) {
    return Math.min(partitions, frameBytes / FEWEST_FRAME_BYTES) * BYTES;
  }

  /** Adds the partition's next frame. */
  public void add(byte[] seal) {
    mac.update(seal, 0, FrameHeader.SEAL_BYTES);
  }

  /** What identifies the frames that were added; called once. */
  byte[] finishMac() {
    return Arrays.copyOf(mac.doFinal(), MAC_BYTES);
  }

  /** The bytes of the mark; called once. */
  public byte[] finish() {
    byte[] payload = ByteBuffer.allocate(FrameHeader.END_MARK_PAYLOAD_BYTES).order(ByteOrder.LITTLE_ENDIAN)
        .put(finishMac()).putInt(partition).array();
    return ByteBuffer.allocate(BYTES).put(FrameHeader.endMark(payload).toBytes()).put(payload).array();
  }
}
