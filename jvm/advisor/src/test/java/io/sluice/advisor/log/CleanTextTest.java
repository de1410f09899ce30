package io.sluice.advisor.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.junit.jupiter.api.Test;

/** Text that controls a terminal or hides itself. */
class CleanTextTest {

  @Test
  void controlCharactersAreReplaced() {
    assertEquals("a\uFFFD[31mb", CleanText.of("a\u001b[31mb", 100));
    assertEquals("\uFFFD\uFFFD\uFFFD\uFFFD", CleanText.of("\u0000\u009b\u202e\u2066", 100));
    assertEquals("a b c", CleanText.of("a\nb\tc", 100));
  }

  @Test
  void halvesOfPairsAreReplacedAndPairsAreNotCut() {
    assertEquals("x\uFFFDy", CleanText.of("x\ud83dy", 100));
    assertEquals("\uD83D\uDE00", CleanText.of("\uD83D\uDE00\u0007", 2));
    assertEquals("x", CleanText.of("x\uD83D\uDE00", 2));
  }

  @Test
  void ordinaryTextStays() {
    String text = "Überprüfung 数据 <b>&";
    assertSame(text, CleanText.of(text, 100));
    assertEquals("Über", CleanText.of(text, 4));
  }
}
