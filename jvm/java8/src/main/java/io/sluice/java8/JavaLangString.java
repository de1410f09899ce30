package io.sluice.java8;

import java.util.stream.Stream;

/** For {@link String}. */
public final class JavaLangString {
  private JavaLangString() {}

  public static boolean isBlank(String text) {
    return text.codePoints().allMatch(Character::isWhitespace);
  }

  public static String strip(String text) {
    int from = 0;
    int to = text.length();
    while (from < to && Character.isWhitespace(text.codePointAt(from))) {
      from += Character.charCount(text.codePointAt(from));
    }
    while (to > from && Character.isWhitespace(text.codePointBefore(to))) {
      to -= Character.charCount(text.codePointBefore(to));
    }
    return text.substring(from, to);
  }

  public static String repeat(String text, int count) {
    if (count < 0) {
      throw new IllegalArgumentException("count is negative: " + count);
    }
    StringBuilder repeated = new StringBuilder(text.length() * count);
    for (int i = 0; i < count; i++) {
      repeated.append(text);
    }
    return repeated.toString();
  }

  public static Stream<String> lines(String text) {
    if (text.isEmpty()) {
      return Stream.empty();
    }
    String[] lines = text.split("\r\n|\r|\n", -1);
    return Stream.of(lines).limit(lines[lines.length - 1].isEmpty() ? lines.length - 1 : lines.length);
  }

  public static String formatted(String format, Object... arguments) {
    return String.format(format, arguments);
  }
}
