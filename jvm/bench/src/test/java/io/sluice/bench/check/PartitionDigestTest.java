package io.sluice.bench.check;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.sql.Date;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.junit.jupiter.api.Test;

class PartitionDigestTest {

  private static final List<Boolean> ASCENDING = List.of(false, false);

  @Test
  void checksumDoesNotDependOnOrderOrPartitioning() {
    Digest one = digest(List.of(row(11), row(22), row(33)));
    Digest other = digest(List.of(row(33)), List.of(), List.of(row(22), row(11)));
    assertEquals(one.checksum(), other.checksum());
  }

  @Test
  void lostRepeatedAndChangedRowsChangeTheChecksum() {
    String right = digest(List.of(row(11), row(22))).checksum();
    assertNotEquals(right, digest(List.of(row(11))).checksum());
    assertNotEquals(right, digest(List.of(row(11), row(23))).checksum());
    assertNotEquals(right, digest(List.of(row(11), row(22), row(5), row(5))).checksum());
    // Two pairs of equal rows have the same exclusive or: the sum tells them apart.
    assertNotEquals(digest(List.of(row(7), row(7))).checksum(), digest(List.of(row(9), row(9))).checksum());
  }

  @Test
  void orderIsCheckedWithinAPartition() {
    assertTrue(digest(List.of(row(1, 5L, 1L), row(2, 5L, 2L), row(3, 6L, 0L))).ordered());
    assertFalse(digest(List.of(row(1, 5L, 2L), row(2, 5L, 1L))).ordered());
  }

  @Test
  void orderIsCheckedAcrossPartitionsAndOverEmptyOnes() {
    assertTrue(digest(List.of(row(1, 5L)), List.of(), List.of(row(2, 5L))).ordered());
    assertFalse(digest(List.of(row(1, 5L)), List.of(), List.of(row(2, 4L))).ordered());
  }

  @Test
  void binariesAreComparedAsUnsignedBytes() {
    byte[] low = {0x7F};
    byte[] high = {(byte) 0x80};
    assertTrue(digest(List.of(row(1, low), row(2, high))).ordered());
    assertFalse(digest(List.of(row(1, high), row(2, low))).ordered());
  }

  @Test
  void columnsCanDescend() {
    List<Row> rows = List.of(row(1, new BigDecimal("9.50"), Date.valueOf("1995-03-01")),
        row(2, new BigDecimal("9.5"), Date.valueOf("1995-03-02")), row(3, new BigDecimal("-1"), new Date(0)));
    List<Row> reversed = List.of(rows.get(2), rows.get(1), rows.get(0));
    assertTrue(PartitionDigest.of(rows.iterator(), List.of(true, false)).ordered());
    assertFalse(PartitionDigest.of(rows.iterator(), List.of(true, true)).ordered());
    assertTrue(PartitionDigest.of(reversed.iterator(), List.of(false, true)).ordered());
    assertFalse(PartitionDigest.of(reversed.iterator(), List.of(true, false)).ordered());
  }

  @Test
  void aResultWithoutRowsIsOrdered() {
    assertEquals(new Digest(0, 0, 0, true), digest(List.of(), List.of()));
  }

  @SafeVarargs
  private static Digest digest(List<Row>... partitions) {
    return PartitionDigest.combine(
        Arrays.stream(partitions).map(rows -> PartitionDigest.of(rows.iterator(), ASCENDING)).toList());
  }

  private static Row row(long hash, Object... keys) {
    Object[] values = new Object[keys.length + 1];
    values[0] = hash;
    System.arraycopy(keys, 0, values, 1, keys.length);
    return RowFactory.create(values);
  }
}
