package io.sluice.bench.soak;

/** A program that a seed determines. Loads no Spark class. */
interface RandomProgram {

  /** How many steps follow its input: those of a shorter program are the first ones of a longer. */
  int steps();

  /** What it does. */
  String text();

  /** The same, to be shown to whoever looks for a fault. */
  default String listing() {
    return text() + "\n";
  }
}
