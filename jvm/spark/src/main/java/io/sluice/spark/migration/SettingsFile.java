package io.sluice.spark.migration;

import io.sluice.spark.SluiceException;
import java.io.IOException;
import java.io.StringReader;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/**
 * A {@code spark-defaults.conf}, read as Spark reads it: UTF-8, in the syntax of {@link Properties}, values trimmed.
 * The parts hold all of its text, in order.
 *
 * @param parts settings, and the lines between them
 */
record SettingsFile(List<Part> parts) {

  /**
   * A setting, or a line that is none (a comment, an empty line).
   *
   * @param line of the first line, from 1
   * @param lines as in the file, each with its end
   * @param key null for a line that is no setting
   * @param value trimmed as Spark does
   */
  record Part(int line, List<String> lines, String key, String value) {
    boolean isSetting() {
      return key != null;
    }

    String text() {
      return String.join("", lines);
    }

    /** What ends its lines, {@code \n} where nothing does. */
    String lineEnd() {
      String first = lines.get(0);
      String end = first.substring(withoutEnd(first).length());
      return end.isEmpty() ? "\n" : end;
    }
  }

  /** @throws SluiceException naming the line that cannot be read */
  static SettingsFile parse(byte[] bytes) {
    String text = decode(bytes);
    int nul = text.indexOf('\0');
    if (nul >= 0) {
      throw damaged(lineAt(text, nul), "it has a NUL byte, so this is no text file or a damaged one");
    }
    SettingsFile file = new SettingsFile(split(text));
    if (!file.settings().equals(load(text, 1))) {
      throw new SluiceException(
          "the file cannot be translated: this Java reads its settings in another way than Sluice");
    }
    return file;
  }

  /** All settings; of one that is set twice the last, as Spark does. */
  Properties settings() {
    Properties settings = new Properties();
    parts.stream().filter(Part::isSetting).forEach(part -> settings.setProperty(part.key, part.value));
    return settings;
  }

  String text() {
    StringBuilder text = new StringBuilder();
    parts.forEach(part -> part.lines.forEach(text::append));
    return text.toString();
  }

  /** The value as it must be written for Java to read it back. */
  static String escape(String value) {
    StringBuilder escaped = new StringBuilder();
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      switch (c) {
        case '\\' -> escaped.append("\\\\");
        case '\n' -> escaped.append("\\n");
        case '\r' -> escaped.append("\\r");
        case '\t' -> escaped.append("\\t");
        case '\f' -> escaped.append("\\f");
        default -> escaped.append(c);
      }
    }
    return escaped.toString();
  }

  private static List<Part> split(String text) {
    List<String> lines = lines(text);
    List<Part> parts = new ArrayList<>();
    for (int first = 0; first < lines.size();) {
      int next = first + 1;
      if (isSetting(lines.get(first))) {
        while (continues(lines.get(next - 1))) {
          checkContinued(next, lines.size());
          next++;
        }
        parts.add(setting(first + 1, List.copyOf(lines.subList(first, next))));
      } else {
        if (isBackslash(lines.get(first))) {
          checkContinued(next, lines.size());
        }
        parts.add(new Part(first + 1, List.of(lines.get(first)), null, null));
      }
      first = next;
    }
    return parts;
  }

  private static void checkContinued(int line, int last) {
    if (line == last) {
      throw damaged(line, "it ends with a backslash, which continues it on the next line, and there is none");
    }
  }

  private static Part setting(int line, List<String> lines) {
    Properties one = load(String.join("", lines), line);
    String key = one.stringPropertyNames().iterator().next();
    return new Part(line, lines, key, one.getProperty(key));
  }

  /** Whether a setting begins on this line. */
  private static boolean isSetting(String line) {
    String content = withoutIndent(withoutEnd(line));
    return !content.isEmpty() && content.charAt(0) != '#' && content.charAt(0) != '!' && !isBackslash(line);
  }

  /** Whether the line has nothing but a backslash: the next line begins anew, as after an empty line. */
  private static boolean isBackslash(String line) {
    return withoutIndent(withoutEnd(line)).equals("\\");
  }

  private static boolean continues(String line) {
    String content = withoutEnd(line);
    int last = content.length();
    while (last > 0 && content.charAt(last - 1) == '\\') {
      last--;
    }
    return (content.length() - last) % 2 == 1;
  }

  /** By Java's own reader, with values trimmed. */
  private static Properties load(String text, int line) {
    Properties read = new Properties();
    try {
      read.load(new StringReader(text));
    } catch (IllegalArgumentException e) {
      throw damaged(line, "it has a \\u that is not followed by four hexadecimal digits");
    } catch (IOException e) {
      throw new IllegalStateException("a string cannot fail to be read", e);
    }
    read.replaceAll((key, value) -> trim((String) value));
    return read;
  }

  /** As Spark: blanks and control characters, but not the ends of lines, which only escapes can bring here. */
  private static String trim(String value) {
    int from = 0;
    int to = value.length();
    while (from < to && isTrimmed(value.charAt(from))) {
      from++;
    }
    while (from < to && isTrimmed(value.charAt(to - 1))) {
      to--;
    }
    return value.substring(from, to);
  }

  private static boolean isTrimmed(char c) {
    return c <= ' ' && c != '\n' && c != '\r';
  }

  private static String decode(byte[] bytes) {
    CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();
    ByteBuffer in = ByteBuffer.wrap(bytes);
    CharBuffer out = CharBuffer.allocate(bytes.length);
    CoderResult result = decoder.decode(in, out, true);
    String text = new String(out.array(), 0, out.position());
    if (result.isError()) {
      throw damaged(lineAt(text, text.length()), "it has bytes that are not UTF-8");
    }
    return text;
  }

  /** The number of the line in which the character at {@code index} is. */
  private static int lineAt(String text, int index) {
    List<String> before = lines(text.substring(0, index));
    boolean lineEnded =
        before.isEmpty() || !withoutEnd(before.get(before.size() - 1)).equals(before.get(before.size() - 1));
    return before.size() + (lineEnded ? 1 : 0);
  }

  private static List<String> lines(String text) {
    List<String> lines = new ArrayList<>();
    int from = 0;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      boolean pair = c == '\r' && i + 1 < text.length() && text.charAt(i + 1) == '\n';
      if ((c == '\n' || c == '\r') && !pair) {
        lines.add(text.substring(from, i + 1));
        from = i + 1;
      }
    }
    if (from < text.length()) {
      lines.add(text.substring(from));
    }
    return lines;
  }

  private static String withoutEnd(String line) {
    int end = line.length();
    while (end > 0 && (line.charAt(end - 1) == '\n' || line.charAt(end - 1) == '\r')) {
      end--;
    }
    return line.substring(0, end);
  }

  private static String withoutIndent(String line) {
    int from = 0;
    while (from < line.length() && " \t\f".indexOf(line.charAt(from)) >= 0) {
      from++;
    }
    return line.substring(from);
  }

  private static SluiceException damaged(int line, String what) {
    return new SluiceException("line " + line + " is damaged: " + what);
  }
}
