package io.sluice.spark.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class PendingCopiesTest {
  private final PendingCopies copies = new PendingCopies();

  @Test
  void whatComesAfterItsShuffleHasEndedIsLate() {
    copies.begin(1);
    copies.begin(1);
    copies.begin(2);
    copies.end(1);
    copies.end(3);
    assertTrue(copies.finish(1));
    assertTrue(copies.finish(1), "each of them");
    assertFalse(copies.finish(2));
    assertEquals(0, copies.size(), "nothing is remembered of shuffles without copies under way");
  }

  @Test
  void aShuffleThatHadEndedBeforeIsNotLate() {
    copies.end(1);
    copies.begin(1);
    assertFalse(copies.finish(1));
    assertEquals(0, copies.size());
  }
}
