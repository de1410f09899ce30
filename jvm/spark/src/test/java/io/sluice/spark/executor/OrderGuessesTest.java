package io.sluice.spark.executor;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class OrderGuessesTest {
  private static final int SHUFFLE = 5;
  private static final int OTHER_SHUFFLE = 6;

  @Test
  void aShuffleIsGuessedUntilThreeOfItsRunsAreRefuted() {
    OrderGuesses guesses = new OrderGuesses(true);
    for (int refuted = 0; refuted < 3; refuted++) {
      assertTrue(guesses.areWorthwhile(SHUFFLE), refuted + " refuted");
      guesses.refuted(SHUFFLE);
    }
    assertFalse(guesses.areWorthwhile(SHUFFLE));
    assertTrue(guesses.areWorthwhile(OTHER_SHUFFLE));
    guesses.forget(SHUFFLE);
    assertTrue(guesses.areWorthwhile(SHUFFLE));
  }

  @Test
  void nothingIsGuessedWhereTheSettingForbidsIt() {
    assertFalse(new OrderGuesses(false).areWorthwhile(SHUFFLE));
  }
}
