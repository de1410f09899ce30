package io.sluice.doctor.report;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Writes one JSON document (RFC 8259) into memory, indented by two spaces. Calls that do not make a document, such as a
 * value without a name inside an object, throw {@link IllegalStateException}.
 */
final class JsonWriter {
  private enum Inside { OBJECT, ARRAY }

  private final StringBuilder out = new StringBuilder();
  private final Deque<Inside> open = new ArrayDeque<>();
  private boolean first = true;
  private boolean named;

  JsonWriter beginObject() {
    return begin(Inside.OBJECT, '{');
  }

  JsonWriter endObject() {
    return end(Inside.OBJECT, '}');
  }

  JsonWriter beginArray() {
    return begin(Inside.ARRAY, '[');
  }

  JsonWriter endArray() {
    return end(Inside.ARRAY, ']');
  }

  JsonWriter name(String name) {
    if (open.peek() != Inside.OBJECT || named) {
      throw new IllegalStateException("a name belongs into an object, before its value: " + name);
    }
    separate();
    quote(name);
    out.append(": ");
    named = true;
    return this;
  }

  JsonWriter value(String value) {
    beforeValue();
    quote(value);
    return afterValue();
  }

  JsonWriter value(boolean value) {
    beforeValue();
    out.append(value);
    return afterValue();
  }

  JsonWriter value(long value) {
    beforeValue();
    out.append(value);
    return afterValue();
  }

  /** The document with a final line break. */
  String document() {
    if (!open.isEmpty() || out.isEmpty()) {
      throw new IllegalStateException("the document is not finished");
    }
    return out + "\n";
  }

  private JsonWriter begin(Inside inside, char bracket) {
    beforeValue();
    out.append(bracket);
    open.push(inside);
    first = true;
    named = false;
    return this;
  }

  private JsonWriter end(Inside inside, char bracket) {
    if (open.peek() != inside || named) {
      throw new IllegalStateException("nothing to close with " + bracket);
    }
    open.pop();
    if (!first) {
      newLine();
    }
    out.append(bracket);
    return afterValue();
  }

  private void beforeValue() {
    if (open.isEmpty() ? !out.isEmpty() : open.peek() == Inside.OBJECT && !named) {
      throw new IllegalStateException("no value can be here");
    }
    if (open.peek() == Inside.ARRAY) {
      separate();
    }
  }

  private JsonWriter afterValue() {
    first = false;
    named = false;
    return this;
  }

  private void separate() {
    if (!first) {
      out.append(',');
    }
    newLine();
  }

  private void newLine() {
    out.append('\n').append("  ".repeat(open.size()));
  }

  private void quote(String text) {
    out.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      switch (c) {
        case '"', '\\' -> out.append('\\').append(c);
        case '\n' -> out.append("\\n");
        case '\r' -> out.append("\\r");
        case '\t' -> out.append("\\t");
        default -> {
          // Half a surrogate pair would make the bytes invalid UTF-8.
          if (c < 0x20 || c == 0x7f || Character.isSurrogate(c) && !paired(text, i)) {
            out.append(String.format("\\u%04x", (int) c));
          } else {
            out.append(c);
          }
        }
      }
    }
    out.append('"');
  }

  private static boolean paired(String text, int i) {
    return Character.isHighSurrogate(text.charAt(i))
        ? i + 1 < text.length() && Character.isLowSurrogate(text.charAt(i + 1))
        : i > 0 && Character.isHighSurrogate(text.charAt(i - 1));
  }
}
