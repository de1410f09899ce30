package io.sluice.bench.workload;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Set;
import org.junit.jupiter.api.Test;

class TeraRecordTest {

  @Test
  void aRecordHasAHundredBytesAndIsTheSameEachTime() {
    for (long row : new long[] {0, 1, 255, 10_000_000_000L}) {
      assertEquals(TeraRecord.RECORD_BYTES, TeraRecord.key(row).length + TeraRecord.value(row).length);
      assertArrayEquals(TeraRecord.key(row), TeraRecord.key(row));
      assertArrayEquals(TeraRecord.value(row), TeraRecord.value(row));
    }
  }

  @Test
  void valuesHaveTheRowNumberBetweenTheBreaks() {
    byte[] value = TeraRecord.value(0xBEEFL);
    assertEquals("0011", HexFormat.of().formatHex(value, 0, 2));
    assertEquals("0000000000000000000000000000BEEF", new String(value, 2, 32, StandardCharsets.US_ASCII));
    assertEquals("8899aabb", HexFormat.of().formatHex(value, 34, 38));
    assertTrue(new String(value, 38, 48, StandardCharsets.US_ASCII).matches("(([0-9A-F])\\2{3}){12}"));
    assertEquals("ccddeeff", HexFormat.of().formatHex(value, 86, 90));
  }

  @Test
  void keysAreDistinctAndSpreadOverTheirFirstByte() {
    Set<String> keys = new HashSet<>();
    int[] firstBytes = new int[256];
    for (long row = 0; row < 25_600; row++) {
      byte[] key = TeraRecord.key(row);
      keys.add(HexFormat.of().formatHex(key));
      firstBytes[key[0] & 0xFF]++;
    }
    assertEquals(25_600, keys.size());
    assertTrue(Arrays.stream(firstBytes).allMatch(count -> count > 50 && count < 150), Arrays.toString(firstBytes));
  }
}
