package io.sluice.spark.docs;

import io.sluice.spark.docs.SourceTokens.Kind;
import io.sluice.spark.docs.SourceTokens.Language;
import io.sluice.spark.docs.SourceTokens.Token;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/** Messages of errors in sources that the Java compiler does not read: the native core, the Python package, Scala. */
final class OtherMessages {
  /**
   * Functions of the native core whose first argument is what was being done, behind which come the file's name and the
   * system's reason.
   */
  private static final Set<String> DOING = Set.of("writing", "reading");
  /** The same with the reason alone behind it. */
  private static final Set<String> WITH_STATUS = Set.of("failed", "check", "error");
  /** A peer's failure, and a reason on its way to the error that has it. */
  private static final Set<String> WITH_REASON = Set.of("Err", "ok_or", "end_link", "connection_lost", "decline");
  /** Wires and peers of tests. */
  private static final Set<String> FOR_TESTS = Set.of("loopback.rs", "crowd.rs", "fuzzing.rs", "fake.rs");

  /** By message: the files that make it. */
  private final Map<String, Set<String>> messages = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
  private int withoutText;
  private String file;

  private OtherMessages() {}

  Map<String, Set<String>> messages() {
    return messages;
  }

  /** How many errors are made whose text is only known when they happen. */
  int withoutText() {
    return withoutText;
  }

  /**
   * All texts of what errors are made with, of {@code Display}, and of what goes to standard error.
   *
   * @param crates folders of crates that are in the jar's native library
   */
  static OtherMessages ofRust(List<Path> crates) throws IOException {
    OtherMessages all = new OtherMessages();
    for (Path crate : crates) {
      for (Path path : files(crate.resolve("src"), ".rs")) {
        String name = crate.relativize(path).toString();
        if (!name.contains("test") && !FOR_TESTS.contains(path.getFileName().toString())) {
          all.file = crate.getFileName() + "/" + path.getFileName();
          // Tests stand at the end of a file.
          all.rust(SourceTokens.of(Files.readString(path).split("#\\[cfg\\((all\\()?test")[0], Language.RUST));
        }
      }
    }
    return all;
  }

  /** Of what {@code SluiceError} and {@code ImportError} are made with. */
  static OtherMessages ofPython(Path sources) throws IOException {
    OtherMessages all = new OtherMessages();
    for (Path path : files(sources, ".py")) {
      all.file = path.getFileName().toString();
      List<Token> tokens = SourceTokens.of(Files.readString(path), Language.PYTHON);
      for (int i = 1; i + 1 < tokens.size(); i++) {
        if (tokens.get(i).value().matches("(Sluice|Import)Error") && tokens.get(i + 1).is("(")
            && tokens.get(i - 1).is("raise")) {
          all.addJoined(resolved(SourceTokens.inBrackets(tokens, i + 1), tokens), "");
        }
      }
    }
    return all;
  }

  /** Of what exceptions are made with, and of what is logged as a warning or an error. */
  static OtherMessages ofScala(List<Path> sources) throws IOException {
    OtherMessages all = new OtherMessages();
    for (Path folder : sources) {
      for (Path path : files(folder, ".scala")) {
        all.file = path.getFileName().toString();
        List<Token> tokens = SourceTokens.of(Files.readString(path), Language.SCALA);
        for (int i = 0; i + 1 < tokens.size(); i++) {
          if (tokens.get(i).value().matches("\\w*(Exception|Error)|logWarning|logError|warn|error")
              && tokens.get(i + 1).is("(")) {
            all.addJoined(SourceTokens.inBrackets(tokens, i + 1), "+");
          }
        }
      }
    }
    return all;
  }

  private static List<Path> files(Path folder, String end) throws IOException {
    if (!Files.isDirectory(folder)) {
      return List.of();
    }
    try (Stream<Path> all = Files.walk(folder)) {
      return all.filter(path -> path.toString().endsWith(end)).sorted().toList();
    }
  }

  private void rust(List<Token> tokens) {
    for (int i = 0; i + 4 < tokens.size(); i++) {
      String word = tokens.get(i).kind() == Kind.WORD ? tokens.get(i).value() : "";
      if (word.endsWith("Error") && tokens.get(i + 1).is(":") && tokens.get(i + 2).is(":")
          && tokens.get(i + 4).is("(")) {
        String function = tokens.get(i + 3).value();
        // What is made of an error or of its number has no text of its own.
        if (!Set.of("from", "from_raw_os_error", "of_status").contains(function)) {
          addEach(resolved(SourceTokens.inBrackets(tokens, i + 4), tokens.subList(0, i)),
              DOING.contains(function) ? " …: …" : "");
        }
      } else if (word.equals("eprintln") && tokens.get(i + 2).is("(")) {
        addEach(SourceTokens.inBrackets(tokens, i + 2), "");
      } else if (word.equals("Display") && tokens.get(i + 1).is("for")) {
        addPart(SourceTokens.inBrackets(tokens, next(tokens, i, "{")), "");
      } else if (WITH_STATUS.contains(word) && tokens.get(i + 1).is("(") && tokens.get(i + 2).kind() == Kind.TEXT) {
        addPart(tokens.subList(i + 2, i + 3), ": …");
      } else if (isReason(word) && tokens.get(i + 1).is("(") && !tokens.get(i + 2).value().endsWith("Error")
          && !WITH_STATUS.contains(tokens.get(i + 2).value())) {
        addPart(SourceTokens.inBrackets(tokens, i + 1), "");
      } else if (word.equals("let") && tokens.get(i + 1).is("why") && tokens.get(i + 2).is("=")) {
        addPart(tokens.subList(i, next(tokens, i, ";")), "");
      } else if (word.equals("Failure") && tokens.get(i + 4).is(",")) {
        addPart(tokens.subList(i + 5, i + 6), "");
      }
    }
  }

  /** The arena's reasons are those of its checks, which tests alone run. */
  private boolean isReason(String word) {
    return word.endsWith("Error") || WITH_REASON.contains(word) && !file.startsWith("mem/");
  }

  private static int next(List<Token> tokens, int from, String mark) {
    int found = from;
    while (found < tokens.size() && !tokens.get(found).is(mark)) {
      found++;
    }
    return found;
  }

  /**
   * The tokens of an argument; if they are a name and have no text, those of the value that the name was last given
   * before, in Python also anywhere in the file.
   */
  private static List<Token> resolved(List<Token> argument, List<Token> before) {
    if (argument.stream().anyMatch(token -> token.kind() == Kind.TEXT) || argument.isEmpty()) {
      return argument;
    }
    Token name = argument.get(argument.size() - 1);
    for (int i = before.size() - 2; i >= 0 && name.kind() == Kind.WORD; i--) {
      if (before.get(i).equals(name) && before.get(i + 1).is("=")) {
        int end = i + 2;
        int depth = 0;
        while (end < before.size() && !(depth == 0 && before.get(end).is(";"))) {
          depth += opens(before.get(end));
          end++;
          if (depth == 0 && before.get(end - 1).kind() == Kind.TEXT && end < before.size()
              && before.get(end).kind() == Kind.WORD) {
            break;
          }
        }
        return before.subList(i + 2, end);
      }
    }
    return argument;
  }

  private static int opens(Token token) {
    return token.is("(") || token.is("{") || token.is("[") ? 1
        : token.is(")") || token.is("}") || token.is("]") ? -1 : 0;
  }

  private void addEach(List<Token> tokens, String rest) {
    add(tokens.stream().filter(token -> token.kind() == Kind.TEXT).map(token -> token.value() + rest).toList());
  }

  /** What may be a message, or only has one among other things. */
  private void addPart(List<Token> tokens, String rest) {
    int before = withoutText;
    addEach(tokens, rest);
    withoutText = before;
  }

  /** Texts one behind the other are one, as are those with {@code between} between them. */
  private void addJoined(List<Token> tokens, String between) {
    List<String> texts = new ArrayList<>();
    boolean joins = false;
    for (Token token : tokens) {
      if (token.kind() == Kind.TEXT && joins) {
        texts.set(texts.size() - 1, texts.get(texts.size() - 1) + token.value());
      } else if (token.kind() == Kind.TEXT) {
        texts.add(token.value());
      }
      joins = token.kind() == Kind.TEXT || joins && token.is(between);
    }
    add(texts);
  }

  private void add(List<String> texts) {
    boolean found = false;
    for (String text : texts) {
      String tidy = tidied(text);
      if (tidy.matches(".*[a-z]{2,}.* .*|.* .*[a-z]{2,}.*")) {
        messages.computeIfAbsent(tidy, key -> new TreeSet<>()).add(file);
        found = true;
      }
    }
    withoutText += found ? 0 : 1;
  }

  private static String tidied(String text) {
    return text.replaceAll("\\{[^{}]*}|\\$\\{[^}]*}|\\$\\w+|%[sd]|%\\.\\d[a-z]", SourceTexts.UNKNOWN)
        .replaceAll("\\s+", " ").replaceAll("…(\\s?…)+", SourceTexts.UNKNOWN).strip();
  }
}
