package io.sluice.spark.decode;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import io.sluice.nativebridge.FrameNotAuthenticException;
import io.sluice.spark.codec.JavaFrameDecoder;
import io.sluice.spark.seal.OutputKeys;

/** Verifies and decodes frames of rows. Thread-safe. */
public interface FrameDecoder {
  /**
   * Decodes one whole frame.
   *
   * @param source the frame, header included, {@code sourceBytes} long; a sealed one is decrypted there
   * @param target where the rows go, back to back; at least the header's decoded bytes of room
   * @param rowLengths where one int per row goes
   * @param rowLengthsCapacity for how many rows there is room; more in the frame make it corrupt
   * @param keys of the map output that the frame must have been sealed for; null when it is not sealed
   * @return number of rows
   * @throws CorruptFrameException when checksum or content is wrong
   */
  long decode(long source, long sourceBytes, long target, long targetBytes, long rowLengths, int rowLengthsCapacity,
      OutputKeys keys) throws CorruptFrameException;

  /** The native core's. Its other errors (no memory, a panic) are not the block's fault and stay unchecked. */
  FrameDecoder NATIVE = (source, sourceBytes, target, targetBytes, rowLengths, rowLengthsCapacity, keys) -> {
    long rows = keys == null
        ? NativeCore.decodeRows(source, sourceBytes, target, targetBytes, rowLengths, rowLengthsCapacity)
        : NativeCore.decodeSealedRows(source, sourceBytes, target, targetBytes, rowLengths, rowLengthsCapacity,
            keys.shuffleId(), keys.mapId(), keys.frameKey());
    if (rows == NativeCore.NOT_AUTHENTIC) {
      throw new FrameNotAuthenticException(NativeCore.lastErrorMessage());
    }
    if (rows == NativeCore.CORRUPT) {
      throw new CorruptFrameException(NativeCore.lastErrorMessage());
    }
    return NativeException.check(rows);
  };

  /** For executors without the native library. */
  FrameDecoder JAVA = JavaFrameDecoder::decode;
}
