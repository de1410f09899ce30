package io.sluice.java8.build;

/** A class cannot be made loadable on the older Java. */
final class RewriteException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  RewriteException(String className, String reason) {
    super(className.replace('/', '.') + " " + reason);
  }
}
