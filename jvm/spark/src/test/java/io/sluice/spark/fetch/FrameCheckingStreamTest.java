package io.sluice.spark.fetch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import io.sluice.spark.decode.PlainFrames;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FrameCheckingStreamTest {
  private static final byte[] BLOCK = PlainFrames.block(0, 3, 20);

  private static byte[] read(byte[] block, int bytesPerRead) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    byte[] buffer = new byte[bytesPerRead];
    try (InputStream in = new FrameCheckingStream(new ByteArrayInputStream(block))) {
      for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
        out.write(buffer, 0, read);
      }
    }
    return out.toByteArray();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 31, 32, 33, 100, 4096})
  void validFramesPassUnchanged(int bytesPerRead) throws IOException {
    assertArrayEquals(BLOCK, read(BLOCK, bytesPerRead));
  }

  @Test
  void aFrameWithAnEmptyPayloadIsValid() throws IOException {
    byte[] empty = PlainFrames.header(FrameHeader.PATH_ROWS, 1, 0, 0, new byte[0]);
    byte[] two = Arrays.copyOf(empty, 64);
    System.arraycopy(empty, 0, two, 32, 32);
    assertArrayEquals(two, read(two, 50));
  }

  @Test
  void readsOfSingleBytesAreChecked() throws IOException {
    InputStream in = new FrameCheckingStream(new ByteArrayInputStream(BLOCK));
    for (byte expected : BLOCK) {
      assertEquals(Byte.toUnsignedInt(expected), in.read());
    }
    assertEquals(-1, in.read());
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 64, 5000})
  void everyFlippedByteIsDetected(int bytesPerRead) {
    for (int i = 0; i < BLOCK.length; i++) {
      byte[] flipped = BLOCK.clone();
      flipped[i] ^= 4;
      assertThrows(CorruptFrameException.class, () -> read(flipped, bytesPerRead), "byte " + i);
    }
  }

  @Test
  void anEndInsideAFrameIsDetected() {
    int frame = BLOCK.length / 3;
    for (int length : new int[] {1, 32, frame - 1, frame + 5, 2 * frame + 40}) {
      assertThrows(EOFException.class, () -> read(Arrays.copyOf(BLOCK, length), 16), "length " + length);
    }
  }
}
