package io.sluice.spark.decode;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;

/** Verifies and decodes frames of rows. Thread-safe. */
public interface FrameDecoder {
  /**
   * Decodes one whole frame.
   *
   * @param source the frame, header included, {@code sourceBytes} long
   * @param target where the rows go, back to back; at least the header's decoded bytes of room
   * @param rowLengths where one int per row goes
   * @return number of rows
   * @throws CorruptFrameException when checksum or content is wrong
   */
  long decode(long source, long sourceBytes, long target, long targetBytes, long rowLengths)
      throws CorruptFrameException;

  /** The native core's. Its other errors (no memory, a panic) are not the block's fault and stay unchecked. */
  FrameDecoder NATIVE = (source, sourceBytes, target, targetBytes, rowLengths) -> {
    long rows = NativeCore.decodeRows(source, sourceBytes, target, targetBytes, rowLengths);
    if (rows == NativeCore.CORRUPT) {
      throw new CorruptFrameException(NativeCore.lastErrorMessage());
    }
    return NativeException.check(rows);
  };
}
