package io.sluice.java8;

/** For {@link StringBuilder}. */
public final class JavaLangStringBuilder {
  private JavaLangStringBuilder() {}

  public static boolean isEmpty(StringBuilder text) {
    return text.length() == 0;
  }
}
