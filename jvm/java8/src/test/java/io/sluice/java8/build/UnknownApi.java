package io.sluice.java8.build;

/** Uses an API that Java 8 lacks and that has no replacement. */
final class UnknownApi {
  private UnknownApi() {}

  static StackWalker walker() {
    return StackWalker.getInstance();
  }
}
