package io.sluice.spark.ui;

import java.io.UnsupportedEncodingException;
import java.net.URLEncoder;

/** Collects HTML. What is not markup of this package goes through {@link #text}, which escapes it. */
final class Html {
  /** A space at which no line is broken. */
  private static final char NO_BREAK = '\u00a0';

  private final StringBuilder html = new StringBuilder();

  /** Markup, as it is. */
  Html raw(String markup) {
    html.append(markup);
    return this;
  }

  /** Any text, for an element's content or a quoted attribute. */
  Html text(String text) {
    html.append(escaped(text));
    return this;
  }

  Html text(long number) {
    html.append(number);
    return this;
  }

  /** A cell of a table with an amount: aligned to the right, and broken into lines before parentheses only. */
  Html number(String text) {
    return raw("<td class=\"text-end text-right\">").text(text.replace(' ', NO_BREAK).replace(NO_BREAK + "(", " ("))
        .raw("</td>");
  }

  Html cell(String text) {
    return raw("<td>").text(text).raw("</td>");
  }

  /** A row of a table of two columns. */
  Html pair(String name, String value) {
    return raw("<tr>").raw("<th scope=\"row\" class=\"fw-normal font-weight-normal\">").text(name).raw("</th>")
        .cell(value)
        .raw("</tr>");
  }

  static String escaped(String text) {
    if (text == null) {
      return "";
    }
    StringBuilder escaped = new StringBuilder(text.length() + 16);
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      switch (c) {
        case '&' -> escaped.append("&amp;");
        case '<' -> escaped.append("&lt;");
        case '>' -> escaped.append("&gt;");
        case '"' -> escaped.append("&quot;");
        case '\'' -> escaped.append("&#39;");
        default -> escaped.append(c < ' ' && c != '\n' && c != '\t' ? ' ' : c);
      }
    }
    return escaped.toString();
  }

  /** A value in the query of an address. */
  static String inUrl(String value) {
    try {
      return URLEncoder.encode(value, "UTF-8");
    } catch (UnsupportedEncodingException e) {
      throw new IllegalStateException("every Java has UTF-8", e);
    }
  }

  @Override
  public String toString() {
    return html.toString();
  }
}
