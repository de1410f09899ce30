package io.sluice.spark.conf;

import java.util.Collection;
import java.util.Comparator;
import java.util.Optional;

/** The known name that a misspelt one is probably meant to be. */
final class SimilarName {
  /** More changed letters than this are another word. */
  private static final int MOST_CHANGES = 3;

  private SimilarName() {}

  /** Of {@code known}, the name with the fewest letters to add, leave out or change; empty if these are too many. */
  static Optional<String> of(String name, Collection<String> known) {
    return known.stream().min(Comparator.comparingInt((String each) -> changes(name, each)))
        .filter(nearest -> changes(name, nearest) <= MOST_CHANGES);
  }

  /** Levenshtein's distance. {@code row[j]}: the letters of {@code a} so far to the first {@code j} of {@code b}. */
  private static int changes(String a, String b) {
    int[] row = new int[b.length() + 1];
    for (int j = 0; j < row.length; j++) {
      row[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j < row.length; j++) {
        int changed =
            diagonal + (Character.toLowerCase(a.charAt(i - 1)) == Character.toLowerCase(b.charAt(j - 1)) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(changed, Math.min(row[j], row[j - 1]) + 1);
      }
    }
    return row[b.length()];
  }
}
