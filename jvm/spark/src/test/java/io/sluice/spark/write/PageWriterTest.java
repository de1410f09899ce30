package io.sluice.spark.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.Lease;
import io.sluice.nativebridge.NativeLibrary;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** The layout that NativeCore.writerEncode documents, byte by byte. */
// A thread of its own ends with each test, and with it the scratch memory of its native encoder and decoder.
@Timeout(value = 180, threadMode = ThreadMode.SEPARATE_THREAD)
class PageWriterTest {
  private static final int PAGE = 64;
  private Lease lease;

  @BeforeEach
  void take() {
    NativeLibrary.Status library = NativeLibrary.load("");
    assumeTrue(library.available(), library.detail());
    lease = Lease.tryTake(PAGE);
  }

  @AfterEach
  void free() {
    lease.close();
  }

  private static byte[] row(int bytes, int fill) {
    byte[] row = new byte[bytes];
    java.util.Arrays.fill(row, (byte) fill);
    return row;
  }

  private long entry(int index) {
    return Platform.getLong(null, lease.address() + PAGE - 8L * (index + 1));
  }

  @Test
  void rowsFillAPageFromItsStartAndEntriesFromItsEnd() {
    PageWriter page = new PageWriter(lease);
    assertTrue(page.append(5, row(16, 1), Platform.BYTE_ARRAY_OFFSET, 16));
    assertTrue(page.append(0x00FFFFFF, row(8, 2), Platform.BYTE_ARRAY_OFFSET, 8));
    assertEquals(5L << 32, entry(0));
    assertEquals(0x00FFFFFFL << 32 | 16, entry(1));
    assertEquals(0x0101010101010101L, Platform.getLong(null, lease.address() + 8));
    assertEquals(0x0202020202020202L, Platform.getLong(null, lease.address() + 16));
    assertEquals(24, page.rowBytes());
    assertEquals(2, page.records());
    long[] description = new long[8];
    page.describe(description, 4);
    assertArrayEquals(new long[] {0, 0, 0, 0, lease.address(), PAGE, 24, 2}, description);
  }

  @Test
  void aPageIsFilledToItsLastByte() {
    PageWriter page = new PageWriter(lease);
    assertTrue(page.append(1, row(40, 7), Platform.BYTE_ARRAY_OFFSET, 40));
    assertFalse(page.append(1, row(16, 7), Platform.BYTE_ARRAY_OFFSET, 16));
    assertEquals(1, page.records());
    assertTrue(page.append(1, row(8, 7), Platform.BYTE_ARRAY_OFFSET, 8));
    assertFalse(page.append(1, row(0, 0), Platform.BYTE_ARRAY_OFFSET, 0));
    assertEquals(PAGE, page.rowBytes() + 8L * page.records());
  }

  @Test
  void aLargeRowGetsAPageOfExactlyItsSize() {
    assertEquals(PAGE, PageWriter.bytesFor(PAGE - 8));
    assertTrue(new PageWriter(lease).append(1, row(PAGE - 8, 1), Platform.BYTE_ARRAY_OFFSET, PAGE - 8));
  }

  @Test
  void rowsOfZeroColumnsTakeOnlyAnEntry() {
    PageWriter page = new PageWriter(lease);
    for (int i = 0; i < PAGE / 8; i++) {
      assertTrue(page.append(i, row(0, 0), Platform.BYTE_ARRAY_OFFSET, 0));
    }
    assertFalse(page.append(9, row(0, 0), Platform.BYTE_ARRAY_OFFSET, 0));
    assertEquals(8, page.records());
    assertEquals(0, page.rowBytes());
  }

  @Test
  void offHeapRowsAreCopied() {
    try (Lease source = Lease.tryTake(16)) {
      Platform.putLong(null, source.address(), 42);
      assertTrue(new PageWriter(lease).append(3, null, source.address(), 8));
      assertEquals(42, Platform.getLong(null, lease.address()));
    }
  }
}
