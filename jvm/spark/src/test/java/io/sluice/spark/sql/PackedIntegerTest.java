package io.sluice.spark.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PackedIntegerTest {
  @Test
  void compareAsTheIntegers() {
    List<Long> values = values(Long.SIZE);
    for (long left : values) {
      for (long right : values) {
        compare(left, right, Long.SIZE);
      }
    }
    values = values(Integer.SIZE);
    for (long left : values) {
      for (long right : values) {
        compare(left, right, Integer.SIZE);
      }
    }
  }

  private static void compare(long left, long right, int typeBits) {
    int cut = Long.SIZE;
    if (PackedInteger.bits(left, typeBits) > cut && PackedInteger.bits(right, typeBits) > cut
        && PackedInteger.pack(left, typeBits) == PackedInteger.pack(right, typeBits)) {
      return;
    }
    assertEquals(Integer.signum(Long.compare(left, right)), Integer.signum(Long.compareUnsigned(
        PackedInteger.pack(left, typeBits), PackedInteger.pack(right, typeBits))), () -> left + " and " + right);
  }

  @Test
  void theirLengthIsToldByThem() {
    for (int typeBits : new int[] {Integer.SIZE, Long.SIZE}) {
      for (long value : values(typeBits)) {
        int bits = PackedInteger.bits(value, typeBits);
        long packed = PackedInteger.pack(value, typeBits);
        long behind = bits < Long.SIZE ? -1L >>> bits : 0;
        assertEquals(0, packed & behind, () -> "bits behind " + value);
        assertEquals(bits, PackedInteger.bitsOfPacked(packed | behind, typeBits), () -> "bits of " + value);
      }
    }
  }

  /** Two packed values side by side compare as the pair. */
  @Test
  void otherBitsMayFollow() {
    for (long first : new long[] {-70_000, -2, -1, 0, 1, 2, 3, 1_000, 1L << 20}) {
      for (long second : new long[] {-4_000_000, -1, 0, 5, 1L << 21}) {
        for (long otherFirst : new long[] {-70_001, -2, -1, 0, 1, 3, 1_000, 1L << 20}) {
          for (long otherSecond : new long[] {-4_000_001, -1, 0, 4, 1L << 22}) {
            int expected = first != otherFirst ? Long.compare(first, otherFirst) : Long.compare(second, otherSecond);
            assertEquals(expected, Integer.signum(Long.compareUnsigned(
                pair(first, second), pair(otherFirst, otherSecond))));
          }
        }
      }
    }
  }

  private static long pair(long first, long second) {
    return PackedInteger.pack(first, Long.SIZE)
        | PackedInteger.pack(second, Long.SIZE) >>> PackedInteger.bits(first, Long.SIZE);
  }

  private static List<Long> values(int typeBits) {
    List<Long> values = new ArrayList<>();
    for (int bit = 0; bit < typeBits - 1; bit++) {
      for (long by = -1; by <= 1; by++) {
        values.add((1L << bit) + by);
        values.add(-(1L << bit) + by);
      }
    }
    Random random = new Random(1);
    for (int i = 0; i < 300; i++) {
      long value = random.nextLong() >> random.nextInt(Long.SIZE);
      values.add(typeBits == Long.SIZE ? value : (long) (int) value);
    }
    values.add(typeBits == Long.SIZE ? Long.MIN_VALUE : Integer.MIN_VALUE);
    values.add(typeBits == Long.SIZE ? Long.MAX_VALUE : Integer.MAX_VALUE);
    values.removeIf(value -> typeBits == Integer.SIZE && value != (int) (long) value);
    return values;
  }
}
