package io.sluice.spark;

/**
 * Something Sluice could not do, on a path where Spark expects an unchecked exception.
 *
 * <p>The message says what failed, where (shuffle, map, block, path), and what to do about it.
 */
public final class SluiceException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public SluiceException(String message) {
    super(message);
  }

  public SluiceException(String message, Throwable cause) {
    super(message, cause);
  }
}
