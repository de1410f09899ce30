package io.sluice.spark.migration;

import java.util.function.Predicate;

/**
 * What becomes of one setting of a predecessor.
 *
 * @param target for {@link Fate#TRANSLATED}, the setting that takes its place; else empty
 * @param why one or more sentences: what differs, what replaces it, or why nothing does
 * @param concerns the values that this is about; with others the line stays as it is
 */
record Mapping(
    Project project, String key, Fate fate, String target, Conversion conversion, String why,
    Predicate<String> concerns) {

  /** What becomes of a line that sets it. */
  enum Fate {
    /** Another setting of the same meaning is set in its place. */
    TRANSLATED("becomes"),
    /** Commented out: Sluice does the same without being told. */
    NOT_NEEDED("not needed"),
    /** Commented out: Sluice has nothing of the kind. */
    NOT_SUPPORTED("not supported"),
    /** Stays: Spark, UCX or RAPIDS' SQL plugin reads it. */
    STAYS("stays");

    private final String words;

    Fate(String words) {
      this.words = words;
    }

    String words() {
      return words;
    }
  }
}
