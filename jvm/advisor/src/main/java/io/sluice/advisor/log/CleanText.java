package io.sluice.advisor.log;

/**
 * Text out of a log as it may be shown: anybody can write names of applications, stages and settings. Characters that
 * control a terminal, change the direction of text or are half of a pair become a replacement character.
 */
public final class CleanText {
  private static final char REPLACEMENT = '\uFFFD';

  private CleanText() {}

  /** At most {@code limit} characters of {@code raw}; a line break or tab becomes a space. */
  public static String of(String raw, int limit) {
    if (raw.length() <= limit && isClean(raw)) {
      return raw;
    }
    StringBuilder text = new StringBuilder(Math.min(raw.length(), limit));
    for (int i = 0; i < raw.length() && text.length() < limit; i++) {
      char c = raw.charAt(i);
      if (isPair(raw, i)) {
        if (text.length() + 2 > limit) {
          break;
        }
        text.append(c).append(raw.charAt(++i));
      } else if (c == '\n' || c == '\r' || c == '\t') {
        text.append(' ');
      } else {
        text.append(isPlain(c) ? c : REPLACEMENT);
      }
    }
    return text.toString();
  }

  private static boolean isClean(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (!isPlain(text.charAt(i))) {
        return false;
      }
    }
    return true;
  }

  private static boolean isPair(String text, int i) {
    return Character.isHighSurrogate(text.charAt(i)) && i + 1 < text.length()
        && Character.isLowSurrogate(text.charAt(i + 1));
  }

  /** Neither a control character, a mark of direction, a line separator nor half of a pair. */
  private static boolean isPlain(char c) {
    if (c >= ' ' && c < 0x7f) {
      return true;
    }
    switch (Character.getType(c)) {
      case Character.CONTROL :
      case Character.FORMAT :
      case Character.LINE_SEPARATOR :
      case Character.PARAGRAPH_SEPARATOR :
      case Character.SURROGATE :
      case Character.UNASSIGNED :
      case Character.PRIVATE_USE :
        return false;
      default :
        return true;
    }
  }
}
