package io.sluice.spark;

/**
 * Something Sluice could not do, on a path where Spark expects an unchecked exception.
 *
 * <p>The message names the failure, its place (shuffle, map, block, path), and the remedy.
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
