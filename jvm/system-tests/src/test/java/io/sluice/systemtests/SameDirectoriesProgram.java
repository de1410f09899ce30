package io.sluice.systemtests;

import java.io.IOException;

/**
 * The other application of {@link SameDirectoriesTest}. Arguments: its local directory, master and mode. Prints a line
 * when it is up and waits for a line of input; then shuffles again and again, and prints what each round has come to.
 */
final class SameDirectoriesProgram {
  static final String UP = "up";
  static final String ROUND = "round: ";
  static final int ROUNDS = 5;

  private SameDirectoriesProgram() {}

  public static void main(String[] arguments) throws IOException {
    try (SparkApplication application = SameDirectoriesTest.start(arguments[0], arguments[1], arguments[2])) {
      System.out.println(UP);
      System.in.read();
      for (int round = 0; round < ROUNDS; round++) {
        System.out.println(ROUND + SameDirectoriesTest.shuffled(application));
      }
    }
    System.exit(0);
  }
}
