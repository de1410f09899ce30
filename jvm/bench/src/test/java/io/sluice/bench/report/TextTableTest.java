package io.sluice.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class TextTableTest {

  @Test
  void namesAreLeftAlignedAndFiguresRightAligned() {
    String text = new TextTable(1, "name", "s").row("a", "10.25").row("longer", "1").render();
    assertEquals("""
        name        s
        -------------
        a       10.25
        longer      1""", text);
  }

  @Test
  void aRowOfAnotherWidthIsAnError() {
    assertThrows(IllegalArgumentException.class, () -> new TextTable(1, "name", "s").row("a"));
  }
}
