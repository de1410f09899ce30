package io.sluice.nativebridge;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import sun.misc.Unsafe;

/**
 * Rows, to frames, to columns, to rows again. The producer of the batches that are taken over is the decoder: its
 * arrays and their callbacks are Arrow's interface, as any other engine's.
 */
final class NativeColumnsTest {
  private static final Unsafe MEMORY = unsafe();
  private static final String TYPES = "l\ni\nu";
  private static final int COLUMNS = 3;
  private static final int ROWS = 1000;
  /** Longs; ints and their nulls; offsets, "row ", and 10 numbers of one digit, 90 of two, 900 of three. */
  private static final long VALUE_BYTES = 8 * ROWS + 4 * ROWS + ROWS / 8 + 4 * (ROWS + 1) + 4 * ROWS + 2890;
  /** Of the callback in an {@code ArrowArray} and in an {@code ArrowSchema}. */
  private static final int ARRAY_RELEASE = 64;
  private static final int SCHEMA_RELEASE = 56;

  @TempDir Path directory;
  private Lease structs;
  private long decoder;

  @BeforeEach
  void open() {
    NativeLibrary.Status status = NativeLibrary.load("");
    assertTrue(status.available(), status.detail());
    NativeCore.setMemoryLimit(64 << 20);
    structs = Lease.tryTake(4096);
    MEMORY.setMemory(structs.address(), structs.bytes(), (byte) 0);
    decoder = NativeException.check(NativeColumns.decoderOpen(TYPES));
  }

  @AfterEach
  void nothingIsLeft() {
    assertEquals(0, NativeColumns.decoderClose(decoder));
    assertEquals(NativeCore.STALE_HANDLE, NativeColumns.decoderClose(decoder));
    for (int column = 0; column < COLUMNS; column++) {
      assertReleased(column);
    }
    structs.close();
    assertEquals(0, NativeCore.leasedBytes());
  }

  @Test
  void columnsBecomeTheRowsAndFramesThatTheyWere() throws IOException {
    List<byte[]> rows = rows();
    byte[] frames = encode(rows);
    assertEquals(ROWS, decode(frames));
    long batch = NativeException.check(take(TYPES, NativeColumns.SINGLE, 1));
    for (int column = 0; column < COLUMNS; column++) {
      assertReleased(column);
    }
    try (Lease page = Lease.tryTake(1 << 20)) {
      long[] filled = new long[2];
      assertEquals(ROWS, NativeColumns.batchToPage(batch, 0, page.address(), page.bytes(), filled));
      assertRows(rows, page, filled, 0);
      assertArrayEquals(frames, encode(page, filled));
    }
    assertEquals(rows.get(7).length, NativeColumns.batchRowBytes(batch, 7));
    assertEquals(NativeCore.INVALID, NativeColumns.batchRowBytes(batch, ROWS));
    assertEquals(VALUE_BYTES, NativeColumns.batchValueBytes(batch));
    assertEquals(0, NativeColumns.batchClose(batch));
    assertEquals(NativeCore.STALE_HANDLE, NativeColumns.batchClose(batch));
    assertEquals(NativeCore.STALE_HANDLE, NativeColumns.batchValueBytes(batch));
  }

  @Test
  void rowsGoOnInTheNextPageAndHaveSparksPartitions() throws IOException {
    List<byte[]> rows = rows();
    decode(encode(rows));
    long batch = NativeException.check(take(TYPES, NativeColumns.HASH, 7, 0));
    int first = 0;
    try (Lease page = Lease.tryTake(5000)) {
      while (first < ROWS) {
        long[] filled = new long[2];
        int copied = NativeColumns.batchToPage(batch, first, page.address(), 5000, filled);
        assertTrue(copied > 50 && copied < 150, () -> copied + " rows");
        assertRows(rows.subList(first, first + copied), page, filled, 5000);
        // Spark: pmod(hash(k), 7) of the longs 0 and 1.
        if (first == 0) {
          assertEquals(Math.floorMod(-1670924195, 7), (int) (entry(page.address() + 5000, 0) >>> 32));
          assertEquals(Math.floorMod(-1712319331, 7), (int) (entry(page.address() + 5000, 1) >>> 32));
        }
        first += copied;
      }
      assertEquals(NativeCore.INVALID,
          NativeColumns.batchToPage(batch, ROWS + 1, page.address(), 5000, new long[2]));
      assertEquals(NativeCore.INVALID, NativeColumns.batchToPage(batch, 0, page.address(), 16, new long[] {24, 0}));
    }
    NativeColumns.batchClose(batch);
  }

  @Test
  void whatIsRefusedIsReleasedAndSaysWhy() throws IOException {
    byte[] frames = encode(rows());
    decode(frames);
    assertRefused(NativeCore.UNSUPPORTED, "column 1 has values of format 'i', 'l' is expected", take("l\nl\nu", 0, 1));
    decode(frames);
    assertRefused(NativeCore.UNSUPPORTED, "column 2", take("l\ni\n+l", 0, 1));
    decode(frames);
    assertRefused(NativeCore.INVALID, "column 9", take(TYPES, NativeColumns.HASH, 7, 9));
    decode(frames);
    assertRefused(NativeCore.INVALID, "partitioning [5, 7]", take(TYPES, 5, 7));
    decode(frames);
    assertRefused(NativeCore.INVALID, "1001", NativeColumns.batchOpen(arrays(), schemas(), COLUMNS, ROWS + 1, TYPES,
        new long[] {NativeColumns.SINGLE, 1}));
    // Released structs are no batch.
    assertRefused(NativeCore.INVALID, "0 arrays and 0 schemas of 3", take(TYPES, NativeColumns.SINGLE, 1));
    frames[100] ^= 1;
    assertRefused(NativeCore.CORRUPT, "frame at byte 0", decode(frames));
    assertRefused(NativeCore.UNSUPPORTED, "column 0", NativeColumns.decoderOpen("+s"));
  }

  @Test
  void aBatchIsReleasedWhereAnArgumentIsMissing() throws IOException {
    byte[] frames = encode(rows());
    decode(frames);
    assertEquals(NativeCore.INVALID, take(null, NativeColumns.SINGLE, 1));
    for (int column = 0; column < COLUMNS; column++) {
      assertReleased(column);
    }
    decode(frames);
    assertEquals(NativeCore.INVALID, take(TYPES, (long[]) null));
    for (int column = 0; column < COLUMNS; column++) {
      assertReleased(column);
    }
  }

  @Test
  void rowsInTurnGoOnInTheNextBatchWhereSparksCounterOverflows() throws IOException {
    byte[] frames = encode(rows());
    int counter = Integer.MAX_VALUE - ROWS - 10;
    try (Lease page = Lease.tryTake(1 << 20)) {
      for (int batches = 0; batches < 2; batches++) {
        decode(frames);
        long batch = NativeException.check(take(TYPES, NativeColumns.ROUND_ROBIN, 7, counter));
        assertEquals(ROWS, NativeColumns.batchToPage(batch, 0, page.address(), page.bytes(), new long[2]));
        for (int row = 0; row < ROWS; row++) {
          // Spark: an int that is counted up before each row, and pmod.
          counter++;
          assertEquals(Math.floorMod(counter, 7), (int) (entry(page.address() + page.bytes(), row) >>> 32));
        }
        NativeColumns.batchClose(batch);
      }
    }
    assertTrue(counter < 0, "it has wrapped");
  }

  /** By the string, and where it is a bound's by the int: falling, nulls first. */
  @Test
  void rowsAreInTheRangesOfTheirKeys() throws IOException {
    // 4 has 99,996, 5 has null, 7 has 99,993.
    byte[][] bounds = {bound("row 4", 99_997), bound("row 5", 1), bound("row 7", null)};
    long[] keys = {2, 0, 1, 1, 1, 1};
    long ranges = NativeException.check(rangesOpen(keys, bounds));
    List<byte[]> rows = rows();
    decode(encode(rows));
    long batch = NativeException.check(take(TYPES, NativeColumns.RANGE, 4, ranges));
    for (int row = 0; row < ROWS; row++) {
      String text = "row " + row;
      int expected = text.compareTo("row 4") < 0 ? 0
          : text.compareTo("row 5") <= 0 ? 1 : text.compareTo("row 7") < 0 ? 2 : 3;
      assertEquals(expected, NativeColumns.batchPartition(batch, row), text);
    }
    assertEquals(NativeCore.INVALID, NativeColumns.batchPartition(batch, ROWS));
    assertEquals(NativeCore.INVALID, NativeColumns.batchPartition(batch, -1));
    assertEquals(0, NativeColumns.rangesClose(ranges));
    assertEquals(3, NativeColumns.batchPartition(batch, ROWS - 1));
    NativeColumns.batchClose(batch);
    assertEquals(NativeCore.STALE_HANDLE, NativeColumns.batchPartition(batch, 0));
    assertEquals(NativeCore.STALE_HANDLE, NativeColumns.rangesClose(ranges));
  }

  @Test
  void rangesThatAreRefusedSayWhy() throws IOException {
    byte[][] bounds = {bound("row 4", 99_997), bound("row 5", 1)};
    long[] keys = {2, 0, 1, 1, 1, 1};
    long ranges = NativeException.check(rangesOpen(keys, bounds));
    decode(encode(rows()));
    assertRefused(NativeCore.INVALID, "4 partitions of 3 ranges", take(TYPES, NativeColumns.RANGE, 4, ranges));
    assertEquals(0, NativeColumns.rangesClose(ranges));
    decode(encode(rows()));
    assertEquals(NativeCore.STALE_HANDLE, take(TYPES, NativeColumns.RANGE, 3, ranges));
    assertRefused(NativeCore.UNSUPPORTED, "bound 1 is not above the one before it",
        rangesOpen(keys, bounds[1], bounds[0]));
    assertRefused(NativeCore.INVALID, "5 longs do not describe keys", rangesOpen(new long[5], bounds));
    assertRefused(NativeCore.INVALID, "a key column is -1", rangesOpen(new long[] {-1, 0, 0, 1, 0, 0}, bounds));
    assertRefused(NativeCore.INVALID, "bounds", NativeColumns.rangesOpen("z\ni", keys, bounds[0], new long[] {8}));
    assertEquals(NativeCore.INVALID, NativeColumns.rangesOpen("z\ni", keys, null, new long[1]));
  }

  private static long rangesOpen(long[] keys, byte[]... bounds) {
    long[] lengths = new long[bounds.length];
    int bytes = 0;
    for (int i = 0; i < bounds.length; i++) {
      lengths[i] = bounds[i].length;
      bytes += bounds[i].length;
    }
    ByteBuffer rows = ByteBuffer.allocate(bytes);
    for (byte[] bound : bounds) {
      rows.put(bound);
    }
    return NativeColumns.rangesOpen("z\ni", keys, rows.array(), lengths);
  }

  /** A row of Spark's with a string and an int. */
  private static byte[] bound(String text, Integer number) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    ByteBuffer row = ByteBuffer.allocate(24 + 8 * ((bytes.length + 7) / 8)).order(ByteOrder.LITTLE_ENDIAN);
    row.putLong(0, number == null ? 2 : 0).putLong(8, 24L << 32 | bytes.length).put(24, bytes);
    if (number != null) {
      row.putInt(16, number);
    }
    return row.array();
  }

  @Test
  void stringsThatAreNotUtf8AreNoColumnAndNothingIsWritten() throws IOException {
    List<byte[]> rows = rows();
    rows.get(ROWS / 2)[32] = (byte) 0xFF;
    assertRefused(NativeCore.UNSUPPORTED, "column 2", decode(encode(rows)));
    for (int column = 0; column < COLUMNS; column++) {
      assertReleased(column);
    }
  }

  @Test
  void aBatchThatNobodyTakesIsReleasedByItsStructs() throws IOException {
    decode(encode(rows()));
    assertTrue(MEMORY.getLong(arrays() + ARRAY_RELEASE) != 0 && MEMORY.getLong(schemas() + SCHEMA_RELEASE) != 0);
    assertEquals(0, NativeColumns.releaseStructs(arrays(), schemas(), 1));
    assertReleased(0);
    assertEquals(0, NativeColumns.releaseStructs(arrays(), schemas(), COLUMNS));
    assertEquals(NativeCore.INVALID, NativeColumns.releaseStructs(0, schemas(), COLUMNS));
  }

  private static void assertRefused(int reason, String message, long result) {
    NativeException refused = assertThrows(NativeException.class, () -> NativeException.check(result));
    assertEquals(reason, refused.reason(), refused::getMessage);
    assertTrue(refused.getMessage().contains(message), refused::getMessage);
  }

  private void assertReleased(int column) {
    assertEquals(0, MEMORY.getLong(arrays() + (long) NativeColumns.arrayBytes() * column + ARRAY_RELEASE));
    assertEquals(0, MEMORY.getLong(schemas() + (long) NativeColumns.schemaBytes() * column + SCHEMA_RELEASE));
  }

  private long arrays() {
    return structs.address();
  }

  private long schemas() {
    return structs.address() + (long) NativeColumns.arrayBytes() * COLUMNS;
  }

  private long take(String types, long... partitioning) {
    return NativeColumns.batchOpen(arrays(), schemas(), COLUMNS, ROWS, types, partitioning);
  }

  private long decode(byte[] frames) {
    try (Lease source = Lease.tryTake(frames.length)) {
      MEMORY.copyMemory(frames, Unsafe.ARRAY_BYTE_BASE_OFFSET, null, source.address(), frames.length);
      return NativeColumns.decoderDecode(decoder, source.address(), frames.length, arrays(), schemas());
    }
  }

  /** Rows of Spark's: a long, an int that is null in every third row, a string. */
  private static List<byte[]> rows() {
    List<byte[]> rows = new ArrayList<>();
    for (int i = 0; i < ROWS; i++) {
      byte[] text = ("row " + i).getBytes(StandardCharsets.UTF_8);
      ByteBuffer row = ByteBuffer.allocate(32 + 8 * ((text.length + 7) / 8)).order(ByteOrder.LITTLE_ENDIAN);
      row.putLong(0, i % 3 == 2 ? 2 : 0).putLong(8, i).putInt(16, i % 3 == 2 ? 0 : 100_000 - i)
          .putLong(24, 32L << 32 | text.length).put(32, text);
      rows.add(row.array());
    }
    return rows;
  }

  private byte[] encode(List<byte[]> rows) throws IOException {
    try (Lease page = Lease.tryTake(1 << 20)) {
      long[] filled = new long[2];
      for (byte[] row : rows) {
        MEMORY.copyMemory(row, Unsafe.ARRAY_BYTE_BASE_OFFSET, null, page.address() + filled[0], row.length);
        filled[1]++;
        MEMORY.putLong(page.address() + page.bytes() - 8 * filled[1], filled[0]);
        filled[0] += row.length;
      }
      return encode(page, filled);
    }
  }

  /** The map output of one partition that has the rows of a page. */
  private byte[] encode(Lease page, long[] filled) throws IOException {
    long writer = NativeException.check(
        NativeCore.writerOpen(1, NativeCore.CODEC_LZ4, NativeCore.LEVEL_FAST, false, null, null));
    Path data = directory.resolve("data");
    NativeException.check(NativeCore.writerEncode(writer, 0, COLUMNS,
        new long[] {page.address(), page.bytes(), filled[0], filled[1]}));
    NativeException.check(
        NativeCore.writerCommit(writer, data.toString(), NativeCore.CHECKSUM_NONE, new long[1], null));
    NativeCore.writerClose(writer);
    return Files.readAllBytes(data);
  }

  /** @param capacity of the page that was given; 0 for all of the lease */
  private static void assertRows(List<byte[]> expected, Lease page, long[] filled, long capacity) {
    assertEquals(expected.size(), filled[1]);
    long end = page.address() + (capacity == 0 ? page.bytes() : capacity);
    long at = 0;
    for (int i = 0; i < expected.size(); i++) {
      byte[] row = new byte[expected.get(i).length];
      assertEquals(at, entry(end, i) & 0xFFFF_FFFFL);
      MEMORY.copyMemory(null, page.address() + at, row, Unsafe.ARRAY_BYTE_BASE_OFFSET, row.length);
      assertArrayEquals(expected.get(i), row);
      at += row.length;
    }
    assertEquals(at, filled[0]);
  }

  private static long entry(long end, int index) {
    return MEMORY.getLong(end - 8L * (index + 1));
  }

  private static Unsafe unsafe() {
    try {
      Field field = Unsafe.class.getDeclaredField("theUnsafe");
      field.setAccessible(true);
      return (Unsafe) field.get(null);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }
}
