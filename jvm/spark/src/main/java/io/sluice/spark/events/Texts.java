package io.sluice.spark.events;

/**
 * Texts of events, kept short so that an event has at most a kilobyte in Spark's event log: lengths are the bytes that
 * a text has there, as JSON in UTF-8, without its quotation marks.
 */
final class Texts {
  private static final String ELLIPSIS = "…";
  /**
   * Control characters without a letter of their own are written as a backslash, u and four digits, and so is each half
   * of a character that Java has as a pair.
   */
  private static final int ESCAPED = 6;
  private static final int WITH_LETTER = 2;

  private Texts() {}

  /** As many of the first characters as fit {@code mostBytes}; an ellipsis takes the place of the rest. */
  static String atMost(int mostBytes, String text) {
    if (bytes(text) <= mostBytes) {
      return text;
    }
    int left = mostBytes - bytes(ELLIPSIS);
    int end = 0;
    while (end < text.length()) {
      int character = text.codePointAt(end);
      left -= bytes(character);
      if (left < 0) {
        break;
      }
      end += Character.charCount(character);
    }
    return text.substring(0, end) + ELLIPSIS;
  }

  /** The bytes of a text in the event log; those of nothing are 0. */
  static int bytes(String text) {
    return text == null ? 0 : text.codePoints().map(Texts::bytes).sum();
  }

  private static int bytes(int character) {
    if (character < ' ') {
      return "\b\t\n\f\r".indexOf(character) >= 0 ? WITH_LETTER : ESCAPED;
    } else if (character == '"' || character == '\\') {
      return WITH_LETTER;
    } else if (character < 0x80) {
      return 1;
    }
    if (Character.charCount(character) > 1) {
      return 2 * ESCAPED;
    }
    return character < 0x800 ? 2 : Character.isSurrogate((char) character) ? ESCAPED : 3;
  }
}
