package io.sluice.bench;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import picocli.CommandLine.Option;

/** The options of {@code --potential} that name a program of the user's in place of workloads. */
final class JobOptions {

  @Option(names = "--class", paramLabel = "CLASS",
      description = "With --potential: the program, a class with a main method, in place of "
          + "workloads.") private String mainClass;

  @Option(names = "--jar", paramLabel = "JAR",
      description = "The jar that --class is in, or another that the program needs; can be "
          + "repeated.") private List<Path> jars = List.of();

  @Option(names = "--arg", paramLabel = "ARGUMENT",
      description = "An argument of the program; can be repeated.") private List<String> arguments = List.of();

  @Option(names = "--sql", paramLabel = "FILE",
      description = "With --potential: statements of SQL, each ended by a semicolon at the end of a line, in place of "
          + "workloads. Rows of queries are computed and dropped.") private Path sql;

  @Option(names = "--minutes", defaultValue = "60", paramLabel = "N",
      description = "How long the program may take. Default: ${DEFAULT-VALUE}.") private long minutes;

  /** Whether the user names a program. */
  boolean given() {
    return mainClass != null || sql != null;
  }

  List<Path> jars() {
    return jars.stream().map(jar -> jar.toAbsolutePath().normalize()).toList();
  }

  long minutes() {
    return minutes;
  }

  /** What the driver's process is told. */
  List<String> arguments() {
    if (sql != null) {
      return List.of("sql", sql.toAbsolutePath().normalize().toString());
    }
    List<String> all = new ArrayList<>(List.of("class", mainClass));
    all.addAll(arguments);
    return all;
  }

  /**
   * @param potential whether the user gave {@code --potential}
   * @param workloads those that the user named
   * @throws IllegalArgumentException for options that contradict each other
   */
  void check(boolean potential, List<String> workloads) {
    if (!given()) {
      if (!jars.isEmpty() || !arguments.isEmpty()) {
        throw new IllegalArgumentException("--jar and --arg are for --class");
      }
      return;
    }
    if (!potential) {
      throw new IllegalArgumentException((sql == null ? "--class" : "--sql") + " is for --potential");
    }
    if (!workloads.isEmpty() || sql != null && mainClass != null) {
      throw new IllegalArgumentException("give one of --class, --sql and names of workloads");
    }
    if (sql != null && !arguments.isEmpty()) {
      throw new IllegalArgumentException("--arg is for --class");
    }
    if (minutes < 1) {
      throw new IllegalArgumentException("--minutes must be at least 1");
    }
    Stream.concat(jars.stream(), Stream.ofNullable(sql)).filter(file -> !Files.isRegularFile(file)).findFirst()
        .ifPresent(file -> {
          throw new IllegalArgumentException("there is no file " + file);
        });
  }
}
