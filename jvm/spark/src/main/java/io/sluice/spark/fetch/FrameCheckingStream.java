package io.sluice.spark.fetch;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * A stream of frames that checks them on their way through: the read that completes a corrupt frame fails, and
 * so does the end of the stream inside a frame. Not thread-safe.
 *
 * <p>For {@code spark.shuffle.detectCorrupt.useExtraMemory}: Spark then reads the beginning of each fetched
 * block before it hands it out, and fetches a block that fails once more. Otherwise the decoder's own check is
 * enough.
 */
final class FrameCheckingStream extends FilterInputStream {
  private static final int PAYLOAD_CRC_OFFSET = 24;

  private final byte[] header = new byte[FrameHeader.BYTES];
  private final CRC32C crc = new CRC32C();
  private int headerBytes;
  private long payloadLeft;

  FrameCheckingStream(InputStream in) {
    super(in);
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : Byte.toUnsignedInt(one[0]);
  }

  @Override
  public int read(byte[] target, int offset, int length) throws IOException {
    int read = super.read(target, offset, length);
    if (read < 0 && headerBytes > 0) {
      throw new EOFException("the block ends inside a frame");
    }
    int checked = 0;
    while (checked < read) {
      checked += headerBytes < FrameHeader.BYTES
          ? header(target, offset + checked, read - checked)
          : payload(target, offset + checked, read - checked);
    }
    return read;
  }

  private int header(byte[] bytes, int offset, int length) throws CorruptFrameException {
    int taken = Math.min(length, FrameHeader.BYTES - headerBytes);
    System.arraycopy(bytes, offset, header, headerBytes, taken);
    headerBytes += taken;
    if (headerBytes == FrameHeader.BYTES) {
      payloadLeft = FrameHeader.parse(header, 0).encodedBytes();
      crc.reset();
      endOfFrame();
    }
    return taken;
  }

  private int payload(byte[] bytes, int offset, int length) throws CorruptFrameException {
    int taken = (int) Math.min(length, payloadLeft);
    crc.update(bytes, offset, taken);
    payloadLeft -= taken;
    endOfFrame();
    return taken;
  }

  private void endOfFrame() throws CorruptFrameException {
    if (payloadLeft > 0) {
      return;
    }
    int stored = ByteBuffer.wrap(header).order(ByteOrder.LITTLE_ENDIAN).getInt(PAYLOAD_CRC_OFFSET);
    if (stored != (int) crc.getValue()) {
      throw new CorruptFrameException("frame payload checksum is 0x" + Integer.toHexString(stored)
          + ", its bytes give 0x" + Long.toHexString(crc.getValue()));
    }
    headerBytes = 0;
  }

  @Override
  public long skip(long bytes) {
    throw new UnsupportedOperationException("frames are checked, not skipped");
  }

  @Override
  public boolean markSupported() {
    return false;
  }
}
