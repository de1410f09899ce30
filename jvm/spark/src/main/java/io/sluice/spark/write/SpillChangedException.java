package io.sluice.spark.write;

import java.io.IOException;

/**
 * A spill file of sealed frames has other frames than those that were written to it. The task fails: writing its output
 * to another place would read the same file.
 */
final class SpillChangedException extends IOException {
  private static final long serialVersionUID = 1L;

  SpillChangedException(String message, Throwable cause) {
    super(message, cause);
  }
}
