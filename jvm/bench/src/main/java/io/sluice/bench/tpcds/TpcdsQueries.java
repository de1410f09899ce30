package io.sluice.bench.tpcds;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The names of TPC-DS's queries in Spark's list: 99, of which four have two texts. Loads no Spark class. */
public final class TpcdsQueries {

  private static final int QUERIES = 99;
  private static final Set<Integer> OF_TWO_TEXTS = Set.of(14, 23, 24, 39);

  /** {@code q1}, …, {@code q14a}, {@code q14b}, …, {@code q99}: the files' names without their ending. */
  public static final List<String> NAMES = IntStream.rangeClosed(1, QUERIES).boxed()
      .flatMap(number -> OF_TWO_TEXTS.contains(number) ? Stream.of("q" + number + "a", "q" + number + "b")
          : Stream.of("q" + number))
      .toList();

  private TpcdsQueries() {}

  /** The SQL of the query called {@code name}, of the files below {@code queries}. */
  public static String text(Path queries, String name) {
    Path file = queries.resolve("tpcds").resolve(name + ".sql");
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(file + " cannot be read", e);
    }
  }
}
