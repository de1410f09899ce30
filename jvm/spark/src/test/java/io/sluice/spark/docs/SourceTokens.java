package io.sluice.spark.docs;

import java.util.ArrayList;
import java.util.List;

/**
 * Sources in Rust, Python and Scala as tokens, as far as finding messages in them needs it: texts with their escapes
 * read, words, and single characters of all else. Comments and blanks are left out.
 */
final class SourceTokens {
  /** What a token is. */
  enum Kind {
    TEXT, WORD, MARK
  }

  /** One token; the value of a TEXT is what stands between its quotes. */
  record Token(Kind kind, String value) {
    boolean is(String mark) {
      return kind != Kind.TEXT && value.equals(mark);
    }
  }

  /** How comments and texts look. */
  enum Language {
    RUST, PYTHON, SCALA
  }

  private final String source;
  private final Language language;
  private final List<Token> tokens = new ArrayList<>();
  private int at;

  private SourceTokens(String source, Language language) {
    this.source = source;
    this.language = language;
  }

  static List<Token> of(String source, Language language) {
    SourceTokens all = new SourceTokens(source, language);
    while (all.at < source.length()) {
      all.next();
    }
    return all.tokens;
  }

  /** The tokens between the bracket at {@code open} and the one that closes it. */
  static List<Token> inBrackets(List<Token> tokens, int open) {
    int depth = 0;
    for (int i = open; i < tokens.size(); i++) {
      Token token = tokens.get(i);
      if (token.is("(") || token.is("[") || token.is("{")) {
        depth++;
      } else if (token.is(")") || token.is("]") || token.is("}")) {
        depth--;
        if (depth == 0) {
          return tokens.subList(open + 1, i);
        }
      }
    }
    throw new AssertionError("a bracket is not closed: " + tokens.subList(open, Math.min(open + 20, tokens.size())));
  }

  private boolean has(String text) {
    return source.startsWith(text, at);
  }

  private void skipTo(String end) {
    int found = source.indexOf(end, at);
    at = found < 0 ? source.length() : found + end.length();
  }

  private void next() {
    char c = source.charAt(at);
    if (has(language == Language.PYTHON ? "#" : "//")) {
      skipTo("\n");
    } else if (language != Language.PYTHON && has("/*")) {
      skipTo("*/");
    } else if (Character.isWhitespace(c)) {
      at++;
    } else if (c == '"' || c == '\'' && language == Language.PYTHON) {
      text(c);
    } else if (c == '\'') {
      character();
    } else if (Character.isJavaIdentifierStart(c)) {
      int start = at;
      while (at < source.length() && Character.isJavaIdentifierPart(source.charAt(at))) {
        at++;
      }
      word(source.substring(start, at));
    } else {
      tokens.add(new Token(Kind.MARK, String.valueOf(c)));
      at++;
    }
  }

  /** A word, or what stands before a text and says how it is read. */
  private void word(String word) {
    boolean text = at < source.length() && (source.charAt(at) == '"' || source.charAt(at) == '\'');
    if (language == Language.RUST && (word.equals("r") || word.equals("br")) && (text || has("#"))) {
      raw();
    } else if (text && (language != Language.RUST || source.charAt(at) == '"') && word.length() <= 2) {
      text(source.charAt(at));
      if (language == Language.RUST) {
        // Bytes, or a text of C: not for people.
        tokens.remove(tokens.size() - 1);
      }
    } else {
      tokens.add(new Token(Kind.WORD, word));
    }
  }

  private void raw() {
    int hashes = 0;
    while (source.charAt(at + hashes) == '#') {
      hashes++;
    }
    if (source.charAt(at + hashes) != '"') {
      // An identifier that is also a keyword.
      at += hashes;
      return;
    }
    String end = '"' + "#".repeat(hashes);
    int start = at + hashes + 1;
    at = start;
    skipTo(end);
    tokens.add(new Token(Kind.TEXT, source.substring(start, at - end.length())));
  }

  private void text(char quote) {
    String three = String.valueOf(quote).repeat(3);
    String end = language != Language.RUST && has(three) ? three : String.valueOf(quote);
    at += end.length();
    StringBuilder text = new StringBuilder();
    while (!has(end)) {
      if (source.charAt(at) == '\\') {
        escape(text);
      } else {
        text.append(source.charAt(at++));
      }
    }
    at += end.length();
    tokens.add(new Token(Kind.TEXT, text.toString()));
  }

  private void escape(StringBuilder text) {
    char escaped = source.charAt(at + 1);
    at += 2;
    if (escaped == '\n') {
      while (language == Language.RUST && Character.isWhitespace(source.charAt(at))) {
        at++;
      }
    } else if (escaped == 'n' || escaped == 't' || escaped == 'r') {
      text.append(' ');
    } else {
      text.append(escaped);
    }
  }

  /** A character of Rust or Scala; a lifetime has no closing quote. */
  private void character() {
    int end = source.charAt(at + 1) == '\\' ? source.indexOf('\'', at + 3) : at + 2;
    at = end < source.length() && source.charAt(end) == '\'' ? end + 1 : at + 1;
  }
}
