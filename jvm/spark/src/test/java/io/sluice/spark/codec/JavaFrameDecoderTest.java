package io.sluice.spark.codec;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import io.sluice.nativebridge.NativeLibrary;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The committed vectors of the block format, whole and damaged. */
// A thread of its own ends with each test, and with it the scratch memory of its native encoder and decoder.
@Timeout(value = 180, threadMode = ThreadMode.SEPARATE_THREAD)
class JavaFrameDecoderTest {
  private static final Path VECTORS =
      Path.of(System.getProperty("sluice.repository", "../.."), "docs/block-format/vectors");

  static List<String> vectors() throws IOException {
    try (Stream<Path> files = Files.list(VECTORS)) {
      return files.map(file -> file.getFileName().toString()).filter(name -> name.endsWith(".frame")).sorted()
          .collect(Collectors.toList());
    }
  }

  private static byte[] frame(String name) throws IOException {
    return Files.readAllBytes(VECTORS.resolve(name));
  }

  @ParameterizedTest
  @MethodSource("vectors")
  void givesTheRowsOfTheVector(String name) throws IOException {
    byte[] expected = Files.readAllBytes(VECTORS.resolve(name.replace(".frame", ".rows")));
    ByteBuffer in = ByteBuffer.wrap(expected).order(ByteOrder.LITTLE_ENDIAN);
    List<byte[]> rows = Decoders.JAVA.rows(frame(name));
    for (byte[] row : rows) {
      byte[] wanted = new byte[in.getInt()];
      in.get(wanted);
      assertArrayEquals(wanted, row, name);
    }
    assertEquals(0, in.remaining(), "rows missing");
  }

  @ParameterizedTest
  @MethodSource("vectors")
  void everyFlippedBitIsNoticed(String name) throws IOException {
    byte[] good = frame(name);
    Random random = new Random(7);
    for (int i = 0; i < 8 * FrameHeader.BYTES + 200; i++) {
      int bit = i < 8 * FrameHeader.BYTES ? i : random.nextInt(8 * good.length);
      byte[] bad = good.clone();
      bad[bit / 8] ^= 1 << bit % 8;
      assertThrows(CorruptFrameException.class, () -> Decoders.JAVA.rows(bad), "bit " + bit);
    }
  }

  @ParameterizedTest
  @MethodSource("vectors")
  void aCutFrameIsCorrupt(String name) throws IOException {
    byte[] good = frame(name);
    for (int bytes : new int[] {0, 1, FrameHeader.BYTES - 1, FrameHeader.BYTES, good.length / 2, good.length - 1}) {
      byte[] cut = java.util.Arrays.copyOf(good, Math.min(bytes, good.length - 1));
      assertThrows(CorruptFrameException.class, () -> Decoders.JAVA.rows(cut), bytes + " bytes");
    }
  }

  /** Payloads and headers changed at random, with checksums that are right: both decoders say the same. */
  @Test
  void damageBehindGoodChecksumsIsSeenAsTheNativeDecoderSeesIt() throws IOException {
    NativeLibrary.Status library = NativeLibrary.load("");
    assumeTrue(library.available(), library.detail());
    List<byte[]> frames = new ArrayList<>();
    for (String name : vectors()) {
      frames.add(frame(name));
    }
    Random random = new Random(11);
    int decoded = 0;
    int refused = 0;
    for (int round = 0; round < 20_000; round++) {
      byte[] changed = damaged(frames.get(round % frames.size()), random);
      List<byte[]> expected = Decoders.NATIVE.rowsOrNull(changed);
      List<byte[]> found = Decoders.JAVA.rowsOrNull(changed);
      assertEquals(expected == null, found == null, "round " + round);
      if (expected == null) {
        refused++;
      } else {
        decoded++;
        assertArrayEquals(expected.toArray(), found.toArray(), "round " + round);
      }
    }
    assertTrue(decoded > 1000 && refused > 1000, decoded + " decoded, " + refused + " refused");
  }

  private static byte[] damaged(byte[] frame, Random random) {
    byte[] changed = frame.clone();
    ByteBuffer header = ByteBuffer.wrap(changed).order(ByteOrder.LITTLE_ENDIAN);
    int payload = changed.length - FrameHeader.BYTES;
    for (int i = random.nextInt(4); i > 0 && payload > 0; i--) {
      // The first bytes hold field kinds and the tags of columns.
      int at = FrameHeader.BYTES + random.nextInt(random.nextBoolean() ? Math.min(payload, 40) : payload);
      changed[at] = (byte) (random.nextBoolean() ? random.nextInt() : changed[at] ^ 1 << random.nextInt(8));
    }
    switch (random.nextInt(10)) {
      case 0 -> header.putInt(8, 1 + random.nextInt(2000));
      case 1 -> header.putInt(12, random.nextInt(100));
      case 2 -> header.putInt(16, 8 * random.nextInt(30_000));
      default -> {
        // The header stays.
      }
    }
    header.putInt(24, crc(changed, FrameHeader.BYTES, payload));
    header.putInt(28, crc(changed, 0, 28));
    return changed;
  }

  private static int crc(byte[] bytes, int offset, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, offset, length);
    return (int) crc.getValue();
  }
}
