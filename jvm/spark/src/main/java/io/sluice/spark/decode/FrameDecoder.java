package io.sluice.spark.decode;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import io.sluice.spark.codec.JavaFrameDecoder;

/** Verifies and decodes frames of rows. Thread-safe. */
public interface FrameDecoder {
  /**
   * Decodes one whole frame.
   *
   * @param source the frame, header included, {@code sourceBytes} long
   * @param target where the rows go, back to back; at least the header's decoded bytes of room
   * @param rowLengths where one int per row goes
   * @param rowLengthsCapacity for how many rows there is room; more in the frame make it corrupt
   * @return number of rows
   * @throws CorruptFrameException when checksum or content is wrong
   */
  long decode(long source, long sourceBytes, long target, long targetBytes, long rowLengths, int rowLengthsCapacity)
      throws CorruptFrameException;

  /** The native core's. Its other errors (no memory, a panic) are not the block's fault and stay unchecked. */
  FrameDecoder NATIVE = (source, sourceBytes, target, targetBytes, rowLengths, rowLengthsCapacity) -> {
    long rows = NativeCore.decodeRows(source, sourceBytes, target, targetBytes, rowLengths, rowLengthsCapacity);
    if (rows == NativeCore.CORRUPT) {
      throw new CorruptFrameException(NativeCore.lastErrorMessage());
    }
    return NativeException.check(rows);
  };

  /** For executors without the native library. */
  FrameDecoder JAVA = JavaFrameDecoder::decode;
}
