package io.sluice.spark.seal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import io.sluice.nativebridge.FrameNotAuthenticException;
import io.sluice.nativebridge.NativeLibrary;
import io.sluice.spark.SluiceException;
import io.sluice.spark.codec.Decoders;
import io.sluice.spark.codec.RowFile;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Provider;
import java.security.Security;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Keys, nonces, and blocks of sealed frames that were tampered with. */
// A thread of its own ends with each test, and with it the scratch memory of its native decoder.
@Timeout(value = 180, threadMode = ThreadMode.SEPARATE_THREAD)
class SealedFramesTest {
  private static final Path VECTORS =
      Path.of(System.getProperty("sluice.repository", "../.."), "docs/block-format/sealed-vectors");
  private static final int PAYLOAD_CRC_OFFSET = 24;
  private static final int HEADER_CRC_OFFSET = 28;
  private static final ApplicationKey APPLICATION = new ApplicationKey(bytesFrom(0, 16));
  private static final OutputKeys KEYS = APPLICATION.output(3, 77);

  @BeforeAll
  static void nativeLibrary() {
    NativeLibrary.Status library = NativeLibrary.load("");
    assumeTrue(library.available(), library.detail());
  }

  static byte[] bytesFrom(int first, int count) {
    byte[] bytes = new byte[count];
    for (int i = 0; i < count; i++) {
      bytes[i] = (byte) (first + i);
    }
    return bytes;
  }

  private static String hex(byte[] bytes) {
    StringBuilder text = new StringBuilder();
    for (byte b : bytes) {
      text.append(String.format("%02x", b));
    }
    return text.toString();
  }

  /** RFC 5869, A.1 and A.2. */
  @Test
  void keysAreDerivedAsTheRfcSays() {
    byte[] input = new byte[22];
    Arrays.fill(input, (byte) 0x0b);
    assertEquals("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
        hex(new Hkdf(bytesFrom(0, 13), input).expand(bytesFrom(0xf0, 10), 42)));
    assertEquals("b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
        + "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87",
        hex(new Hkdf(bytesFrom(0x60, 80), bytesFrom(0, 80)).expand(bytesFrom(0xb0, 80), 82)));
  }

  @Test
  void everyMapOutputHasKeysOfItsOwn() {
    Set<String> keys = new HashSet<>();
    for (int shuffle = 0; shuffle < 3; shuffle++) {
      for (long map : new long[] {0, 1, 1L << 32, Long.MAX_VALUE}) {
        OutputKeys output = APPLICATION.output(shuffle, map);
        assertEquals(48, output.nativeKeys().length);
        keys.add(hex(output.frameKey()));
        keys.add(hex(output.nativeKeys()).substring(32));
      }
    }
    assertEquals(24, keys.size());
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 8, 15, 17, 33})
  void aKeyOfAnotherLengthIsRefused(int bytes) {
    String message = assertThrows(SluiceException.class, () -> new ApplicationKey(new byte[bytes])).getMessage();
    assertTrue(message.contains(bytes * 8 + " bits") && message.contains("spark.io.encryption.keySizeBits"), message);
  }

  @Test
  void keysOf192BitsAreCarriedAsLongerOnes() {
    assertEquals(32, new ApplicationKey(new byte[24]).output(0, 0).frameKey().length);
    assertEquals(32, new ApplicationKey(new byte[32]).output(0, 0).frameKey().length);
  }

  static byte[] frame(FrameSealer sealer, int partition, int number) {
    byte[] row = ByteBuffer.allocate(24).order(ByteOrder.LITTLE_ENDIAN).putInt(16).putLong(4, 0).putLong(12, number)
        .array();
    byte[] payload = Arrays.copyOf(row, 20);
    FrameSealer.Frame frame = sealer.start(new FrameHeader(
        FrameHeader.PATH_ROWS, FrameHeader.ENCODING_PLAIN, 0, 1, 1, 16, payload.length, 0), partition);
    byte[] sealed = new byte[payload.length + FrameSealer.Frame.MOST_EXTRA_BYTES];
    int count = frame.update(payload, payload.length, sealed);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(sealed, 0, count);
    out.writeBytes(frame.finish());
    return ByteBuffer.allocate(FrameHeader.BYTES + out.size()).put(frame.header()).put(out.toByteArray()).array();
  }

  private static byte[] nonce(byte[] frame) {
    return Arrays.copyOfRange(frame, frame.length - 16, frame.length - 4);
  }

  @Test
  void noTwoFramesHaveOneNonce() throws Exception {
    List<FrameSealer> sealers = List.of(new FrameSealer(KEYS), new FrameSealer(KEYS));
    ExecutorService threads = Executors.newFixedThreadPool(4);
    List<Future<List<String>>> found = new ArrayList<>();
    for (int thread = 0; thread < 4; thread++) {
      Callable<List<String>> seal = () -> {
        List<String> nonces = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
          nonces.add(hex(nonce(frame(sealers.get(i % 2), 0, i))));
        }
        return nonces;
      };
      found.add(threads.submit(seal));
    }
    Set<String> nonces = new HashSet<>();
    for (Future<List<String>> some : found) {
      nonces.addAll(some.get());
    }
    threads.shutdown();
    assertEquals(2000, nonces.size());
  }

  @Test
  void aSealerStopsBeforeItsNumbersRepeat() {
    FrameSealer sealer = new FrameSealer(KEYS, FrameSealer.MAX_FRAMES - 1);
    assertEquals("ffffffff", hex(nonce(frame(sealer, 0, 0))).substring(16));
    for (int i = 0; i < 3; i++) {
      assertThrows(SluiceException.class, () -> frame(sealer, 0, 0));
    }
  }

  /** Two frames of partition 4, one of partition 6, two of partition 7; each partition with its end mark. */
  private static List<byte[]> block(OutputKeys keys) {
    FrameSealer sealer = new FrameSealer(keys);
    List<byte[]> parts = new ArrayList<>();
    int[] partitions = {4, 6, 7};
    int[] frames = {2, 1, 2};
    for (int i = 0; i < partitions.length; i++) {
      EndMark mark = keys.endMark(partitions[i]);
      for (int number = 0; number < frames[i]; number++) {
        byte[] frame = frame(sealer, partitions[i], number);
        mark.add(Arrays.copyOfRange(frame, frame.length - FrameHeader.SEAL_BYTES, frame.length));
        parts.add(frame);
      }
      parts.add(mark.finish());
    }
    return parts;
  }

  private static SealedBlock expected() {
    return new SealedBlock(KEYS, new int[] {4, 6, 7});
  }

  @Test
  void aBlockAsItWasWrittenIsAccepted() {
    assertDoesNotThrow(() -> SealedBlocksInArrays.check(block(KEYS), expected()));
    assertDoesNotThrow(() -> SealedBlocksInArrays.check(List.of(), new SealedBlock(KEYS, new int[0])));
  }

  /** What becomes of frame, frame, mark 4, frame, mark 6, frame, frame, mark 7. */
  static List<Arguments> tamperings() {
    List<byte[]> good = block(KEYS);
    List<byte[]> again = block(KEYS);
    return List.of(
        Arguments.of("frames of a partition in another order", order(good, 1, 0, 2, 3, 4, 5, 6, 7)),
        Arguments.of("a frame left out", order(good, 0, 2, 3, 4, 5, 6, 7)),
        Arguments.of("the last frame left out", order(good, 0, 1, 2, 3, 4, 5, 7)),
        Arguments.of("a frame twice", order(good, 0, 0, 1, 2, 3, 4, 5, 6, 7)),
        Arguments.of("a frame of another partition of the same output", order(good, 0, 3, 2, 3, 4, 5, 6, 7)),
        Arguments.of("partitions in another order", order(good, 3, 4, 0, 1, 2, 5, 6, 7)),
        Arguments.of("a partition left out", order(good, 0, 1, 2, 5, 6, 7)),
        Arguments.of("a partition without frames", order(good, 0, 1, 2, 4, 5, 6, 7)),
        Arguments.of("the block ends behind a frame", order(good, 0, 1, 2, 3, 4, 5, 6)),
        Arguments.of("the block ends behind a partition", order(good, 0, 1, 2, 3, 4)),
        Arguments.of("nothing", List.of()),
        Arguments.of("an end mark left out", order(good, 0, 1, 3, 4, 5, 6, 7)),
        Arguments.of("an end mark twice", order(good, 0, 1, 2, 2, 3, 4, 5, 6, 7)),
        Arguments.of("more behind the end", order(good, 0, 1, 2, 3, 4, 5, 6, 7, 6)),
        Arguments.of("a frame that the same task sealed another time", replaced(good, 0, again.get(0))),
        Arguments.of("an end mark that the same task made another time", replaced(good, 2, again.get(2))),
        Arguments.of("a frame of another attempt", replaced(good, 0, block(APPLICATION.output(3, 78)).get(0))),
        Arguments.of("a block of another attempt", block(APPLICATION.output(3, 78))),
        Arguments.of("a block of another shuffle", block(APPLICATION.output(2, 77))),
        Arguments.of("a block of another application",
            block(new ApplicationKey(bytesFrom(1, 16)).output(3, 77))));
  }

  private static List<byte[]> order(List<byte[]> parts, int... order) {
    return Arrays.stream(order).mapToObj(parts::get).toList();
  }

  private static List<byte[]> replaced(List<byte[]> parts, int at, byte[] part) {
    List<byte[]> changed = new ArrayList<>(parts);
    changed.set(at, part);
    return changed;
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("tamperings")
  void aBlockThatWasTamperedWithIsNot(String what, List<byte[]> parts) {
    assertThrows(FrameNotAuthenticException.class, () -> SealedBlocksInArrays.check(parts, expected()), what);
  }

  @Test
  void theCommittedBlockIsOpenedByBothDecoders() throws Exception {
    assertEquals("9e4398c730af48ef2d7c231abf6c328e1f40ec7a7071a39afc46450cd3c5476cac5dc2c99281912236168b8176f59a16",
        hex(KEYS.nativeKeys()));
    byte[] block = Files.readAllBytes(VECTORS.resolve("partition-5.block"));
    SealedBlocksInArrays.check(block, new SealedBlock(KEYS, new int[] {5}));
    List<byte[]> rows = new ArrayList<>();
    ByteBuffer expected = ByteBuffer.wrap(Files.readAllBytes(VECTORS.resolve("partition-5.rows")))
        .order(ByteOrder.LITTLE_ENDIAN);
    while (expected.hasRemaining()) {
      byte[] row = new byte[expected.getInt()];
      expected.get(row);
      rows.add(row);
    }
    assertArrayEquals(rows.toArray(), Decoders.JAVA.rowsOfBlock(block, KEYS).toArray());
    assertArrayEquals(rows.toArray(), Decoders.NATIVE.rowsOfBlock(block, KEYS).toArray());
    assertTrue(Collections.indexOfSubList(boxed(block), boxed("needle".getBytes(StandardCharsets.US_ASCII))) < 0);
  }

  /** With checksums that fit, as somebody who means it would write them; where a checksum itself changes, without. */
  @Test
  void everyChangedByteIsRefusedByReadersAndBothDecoders() throws Exception {
    List<byte[]> parts = SealedBlocksInArrays.parts(Files.readAllBytes(VECTORS.resolve("partition-5.block")));
    for (int part = 0; part < parts.size(); part++) {
      boolean isFrame = part < parts.size() - 1;
      for (int at = 0; at < parts.get(part).length; at++) {
        // With 3, "SLF2" becomes "SLF1".
        for (int change : new int[] {1, 2, 3, 0x80}) {
          byte[] forged = forged(parts.get(part), at, change);
          String what = "part " + part + ", byte " + at + ", change " + change;
          List<byte[]> block = replaced(parts, part, forged);
          assertThrows(CorruptFrameException.class,
              () -> SealedBlocksInArrays.check(block, new SealedBlock(KEYS, new int[] {5})), what);
          if (isFrame) {
            assertThrows(CorruptFrameException.class, () -> Decoders.JAVA.rows(forged, KEYS), what);
            assertThrows(CorruptFrameException.class, () -> Decoders.NATIVE.rows(forged, KEYS), what);
          }
        }
      }
    }
  }

  static byte[] forged(byte[] part, int at, int change) {
    byte[] forged = part.clone();
    forged[at] ^= (byte) change;
    if (at < PAYLOAD_CRC_OFFSET || at >= FrameHeader.BYTES) {
      putCrc(forged, FrameHeader.BYTES, forged.length, PAYLOAD_CRC_OFFSET);
      putCrc(forged, 0, HEADER_CRC_OFFSET, HEADER_CRC_OFFSET);
    }
    return forged;
  }

  static void putCrc(byte[] bytes, int from, int to, int at) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, from, to - from);
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putInt(at, (int) crc.getValue());
  }

  @Test
  void aFrameThatNoArrayCanHoldIsNotSealed() {
    FrameSealer sealer = new FrameSealer(KEYS);
    long most = Integer.MAX_VALUE - 8 - FrameHeader.SEAL_BYTES;
    assertDoesNotThrow(() -> sealer.start(headerOf(most), 0));
    String message = assertThrows(SluiceException.class, () -> sealer.start(headerOf(most + 1), 0)).getMessage();
    assertTrue(message.contains("cannot be encrypted as one frame"), message);
  }

  private static FrameHeader headerOf(long payloadBytes) {
    return new FrameHeader(FrameHeader.PATH_ROWS, FrameHeader.ENCODING_PLAIN, 0, 1, 1, payloadBytes - Integer.BYTES,
        payloadBytes, 0);
  }

  @Test
  void thereAreNoMoreEndMarksThanFrames() {
    assertEquals(0, EndMark.mostBytes(1000, 0));
    assertEquals(2L * EndMark.BYTES, EndMark.mostBytes(1000, 2 * (FrameHeader.BYTES + FrameHeader.SEAL_BYTES + 4)));
    assertEquals(3L * EndMark.BYTES, EndMark.mostBytes(3, 1L << 40));
  }

  /** Some security providers give out nothing before the last call. */
  @Test
  void aProviderThatKeepsAllBytesToTheEnd(@TempDir Path folder) throws Exception {
    byte[] row = bytesFrom(0, 600_000);
    File file = folder.resolve("row").toFile();
    Provider keeping = new KeepingProvider();
    Security.insertProviderAt(keeping, 1);
    try {
      RowFile.write(file, 0, 5, 1, row, Platform.BYTE_ARRAY_OFFSET, row.length, new FrameSealer(KEYS));
    } finally {
      Security.removeProvider(keeping.getName());
    }
    assertTrue(KeepingProvider.finished > 0, "the provider was not used");
    assertArrayEquals(new Object[] {row}, Decoders.JAVA.rows(Files.readAllBytes(file.toPath()), KEYS).toArray());
  }

  private static List<Byte> boxed(byte[] bytes) {
    return Stream.iterate(0, i -> i + 1).limit(bytes.length).map(i -> bytes[i]).toList();
  }
}
