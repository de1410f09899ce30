package io.sluice.advisor.log;

import java.io.IOException;
import java.io.InputStream;

/**
 * LZF chunks, Spark's codec {@code lzf}. A chunk is {@code ZV}, a type (0 stored, 1 compressed), a big-endian length of
 * two bytes, for type 1 the length of the content in two bytes, then the bytes.
 *
 * <p>Within a compressed chunk a byte below 32 says that as many bytes and one more follow; another one is a reference
 * to bytes before: its upper three bits are the length less 2 (7: the next byte is added), the lower five and the next
 * byte the distance less 1.
 */
final class LzfBlockInput extends BlockInput {
  private static final int STORED = 0;
  private static final int COMPRESSED = 1;
  private static final int MAX_CHUNK = 1 << 16;
  private static final int LITERALS = 32;

  private final byte[] head = new byte[4];
  private final byte[] chunk = new byte[MAX_CHUNK];
  private final byte[] plain = new byte[MAX_CHUNK];

  LzfBlockInput(InputStream in) {
    super(in);
  }

  @Override
  boolean nextBlock() throws IOException {
    if (!begin(head, 3)) {
      return false;
    }
    if (head[0] != 'Z' || head[1] != 'V' || head[2] != STORED && head[2] != COMPRESSED) {
      throw new IOException("an LZF chunk does not begin as one");
    }
    boolean compressed = head[2] == COMPRESSED;
    int length = shortLength();
    int plainLength = compressed ? shortLength() : length;
    fill(chunk, 0, length);
    if (compressed) {
      expand(length, plainLength);
      content(plain, plainLength);
    } else {
      content(chunk, length);
    }
    return true;
  }

  private int shortLength() throws IOException {
    fill(head, 0, 2);
    return (head[0] & 0xff) << 8 | head[1] & 0xff;
  }

  private void expand(int length, int plainLength) throws IOException {
    int in = 0;
    int out = 0;
    try {
      while (in < length) {
        int control = chunk[in++] & 0xff;
        if (control < LITERALS) {
          int count = control + 1;
          System.arraycopy(chunk, in, plain, out, count);
          in += count;
          out += count;
          continue;
        }
        int count = (control >> 5) + 2;
        if (count == 9) {
          count += chunk[in++] & 0xff;
        }
        int from = out - ((control & 31) << 8 | chunk[in++] & 0xff) - 1;
        // Byte by byte, because a reference may reach into what it makes.
        for (int i = 0; i < count; i++) {
          plain[out++] = plain[from++];
        }
      }
    } catch (IndexOutOfBoundsException e) {
      throw new IOException("an LZF chunk is damaged", e);
    }
    if (out != plainLength) {
      throw new IOException("an LZF chunk is damaged: " + out + " bytes instead of " + plainLength);
    }
  }
}
