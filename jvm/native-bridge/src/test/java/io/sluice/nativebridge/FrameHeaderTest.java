package io.sluice.nativebridge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class FrameHeaderTest {
  private static final FrameHeader HEADER =
      new FrameHeader(FrameHeader.PATH_ROWS, FrameHeader.ENCODING_PLAIN, 0, 1, 1, 16, 20, 0);

  private static String refusal(byte[] bytes) {
    return assertThrows(CorruptFrameException.class, () -> FrameHeader.parse(bytes, 0)).getMessage();
  }

  @Test
  void bothVersionsAreRead() throws CorruptFrameException {
    assertEquals(HEADER, FrameHeader.parse(HEADER.toBytes(), 0));
    FrameHeader sealed = HEADER.sealed(7);
    assertEquals(sealed, FrameHeader.parse(sealed.toBytes(), 0));
  }

  @Test
  void otherVersionsAreNamed() {
    for (char version : new char[] {'0', '3'}) {
      byte[] bytes = HEADER.toBytes();
      bytes[3] = (byte) version;
      String message = refusal(bytes);
      assertTrue(message.startsWith("a frame of format version '" + version + "', this version of Sluice reads '1' and "
          + "'2': written by another version of Sluice?"), message);
    }
  }

  @Test
  void otherBytesAreNoFrame() {
    byte[] bytes = HEADER.toBytes();
    bytes[0] ^= 1;
    assertTrue(refusal(bytes).startsWith("not a Sluice frame: magic is 0x"));
  }
}
