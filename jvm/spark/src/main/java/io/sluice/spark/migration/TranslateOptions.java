package io.sluice.spark.migration;

import io.sluice.spark.SluiceException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The parsed command line.
 *
 * @param from null only with {@code help}
 */
record TranslateOptions(Path from, Optional<Path> to, boolean force, boolean help) {
  static final String HELP = """
      usage: java -jar JAR conf --from FILE [--to FILE [--force]]      (with SPARK_HOME set)
             python -m sluice_spark conf --from FILE …                 (in a checkout: ./sluice conf)
             java -jar JAR conf KEY=VALUE…                             (the memory that executors will use)

      Translates a spark-defaults.conf that was written for the RAPIDS Shuffle Manager, SparkRDMA or SparkUCX.
      Their settings become comments, with the reason, and Sluice's settings follow them. All other lines stay
      as they are. What was done, and settings that are unknown, are said on standard error.

        --from FILE   the file to translate; it is not changed
        --to FILE     where to write the translation (default: standard output)
        --force       replace the file that --to names, if there is one
        --help        this text

      Exit code: 0 translated, 2 not translated, and nothing was written.
      """;

  /** @throws SluiceException saying which argument is wrong */
  static TranslateOptions parse(List<String> arguments) {
    Path from = null;
    Path to = null;
    boolean force = false;
    Iterator<String> rest = separated(arguments).iterator();
    while (rest.hasNext()) {
      String option = rest.next();
      switch (option) {
        case "--from" -> from = file(option, rest, from);
        case "--to" -> to = file(option, rest, to);
        case "--force" -> force = true;
        case "--help", "-h" -> {
          return new TranslateOptions(null, Optional.empty(), false, true);
        }
        default -> throw new SluiceException("unknown argument " + option + " (--help shows what there is)");
      }
    }
    if (from == null) {
      throw new SluiceException("--from FILE is missing (--help shows what there is)");
    }
    return new TranslateOptions(from, Optional.ofNullable(to), force, false);
  }

  /** {@code --option=value} is {@code --option value}. */
  private static List<String> separated(List<String> arguments) {
    return arguments.stream().flatMap(argument -> argument.startsWith("--") && argument.contains("=")
        ? Arrays.stream(argument.split("=", 2)) : Stream.of(argument)).toList();
  }

  private static Path file(String option, Iterator<String> rest, Path before) {
    String name = rest.hasNext() ? rest.next() : "";
    if (name.isEmpty() || before != null) {
      throw new SluiceException(option + (before == null ? " needs a file" : " is given twice"));
    }
    try {
      return Path.of(name);
    } catch (InvalidPathException e) {
      throw new SluiceException(option + ": " + e.getMessage(), e);
    }
  }
}
