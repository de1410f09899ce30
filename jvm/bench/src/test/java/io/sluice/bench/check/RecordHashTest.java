package io.sluice.bench.check;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import scala.Tuple2;

class RecordHashTest {

  @Test
  void equalContentsHashEqually() {
    assertEquals(RecordHash.of(pair(new byte[] {1, 2}, 7L)), RecordHash.of(pair(new byte[] {1, 2}, 7L)));
    assertEquals(RecordHash.of(pair("k", pair("a", "b"))), RecordHash.of(pair("k", pair("a", "b"))));
    assertEquals(RecordHash.of(1.5), RecordHash.of(1.5));
  }

  @Test
  void differentContentsHashDifferently() {
    List<Object> records = List.of(pair("a", "b"), pair("b", "a"), pair("ab", ""), pair("", "ab"), pair("a", null),
        pair(new byte[0], new byte[] {0}), pair(1L, 2L), pair(2L, 1L), pair(0.0, 1L), pair(-0.0, 1L),
        pair(1L, List.of(1L)), pair(1L, List.of(1L, 1L)), pair(1L, List.of()));
    Set<Long> hashes = new HashSet<>();
    records.forEach(record -> hashes.add(RecordHash.of(record)));
    assertEquals(records.size(), hashes.size());
  }

  @Test
  void groupsHashWithoutRegardToOrder() {
    assertEquals(RecordHash.of(List.of("x", "y", "z")), RecordHash.of(List.of("z", "x", "y")));
    assertNotEquals(RecordHash.of(List.of("x", "y")), RecordHash.of(List.of("x", "x")));
  }

  @Test
  void anUnknownClassIsRefusedByName() {
    String message = assertThrows(IllegalArgumentException.class, () -> RecordHash.of(new Object())).getMessage();
    assertEquals("cannot hash a java.lang.Object", message);
  }

  private static Tuple2<Object, Object> pair(Object left, Object right) {
    return new Tuple2<>(left, right);
  }
}
