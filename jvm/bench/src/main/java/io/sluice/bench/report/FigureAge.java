package io.sluice.bench.report;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.stream.Stream;

/**
 * Whether published figures are older than the code that they measure.
 *
 * @param part which figures
 * @param measured the day of the oldest measurement among them; null if there are none
 * @param commit the checkout that it was made with; null if there is none or it was not written down
 * @param changes how many commits since then change what goes into the jar; empty if no commit is recorded, or git does
 * not have it
 */
public record FigureAge(FigurePart part, String measured, String commit, OptionalInt changes) {

  /** What goes into the jar. */
  private static final List<String> PRODUCT = List.of("native/crates", "native/Cargo.lock", "jvm/java8",
      "jvm/native-bridge", "jvm/spark", "jvm/sql", "jvm/sql-scala-2.12", "jvm/comet-api",
      ":(exclude)*/src/test/*", ":(exclude)*/tests/*");
  private static final int DAY = 10;

  /** The age of {@code part}'s results, measured in {@code environments}, in the checkout {@code root}. */
  public static FigureAge of(FigurePart part, List<Environment> environments, Path root) {
    return environments.stream().min(Comparator.comparing(Environment::started))
        .map(oldest -> new FigureAge(part, oldest.started().substring(0, Math.min(DAY, oldest.started().length())),
            oldest.commit(), changes(oldest.commit(), root)))
        .orElse(new FigureAge(part, null, null, OptionalInt.empty()));
  }

  /** One line: file, day, commit and what follows from them. */
  public String line() {
    return String.format(Locale.ROOT, "%-36s %-10s  %-10s  %s", part.file(), measured == null ? "-" : measured,
        commit == null ? "-" : commit, verdict());
  }

  private String verdict() {
    if (measured == null) {
      return "not measured yet: ./sluice figures --only " + part.label();
    }
    if (changes.isEmpty()) {
      return "no commit is recorded, or git does not have it";
    }
    return changes.getAsInt() == 0 ? "of this code"
        : changes.getAsInt() + " commits have changed the jar since: ./sluice figures --only " + part.label();
  }

  private static OptionalInt changes(String commit, Path root) {
    if (commit == null) {
      return OptionalInt.empty();
    }
    // Results of a changed checkout have a plus sign, and are counted as those of the commit.
    String plain = commit.replace("+", "");
    List<String> command = Stream.concat(Stream.of("git", "-C", root.toString(), "rev-list", "--count",
        plain + "..HEAD", "--"), PRODUCT.stream()).toList();
    try {
      Process git = new ProcessBuilder(new ArrayList<>(command)).redirectError(ProcessBuilder.Redirect.DISCARD).start();
      String count = new String(git.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
      return git.waitFor() == 0 ? OptionalInt.of(Integer.parseInt(count)) : OptionalInt.empty();
    } catch (IOException e) {
      // There is no git here.
      return OptionalInt.empty();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return OptionalInt.empty();
    }
  }
}
