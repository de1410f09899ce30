package io.sluice.advisor.model;

/**
 * An exchange of a plan of Spark SQL.
 *
 * @param partitioning how rows get their partitions
 * @param partitions how many; 0 if the log does not say
 */
public record Exchange(Partitioning partitioning, long partitions) {

  /** Of Spark's partitionings, those that cost different amounts. */
  public enum Partitioning {
    HASH, RANGE, ROUND_ROBIN, SINGLE, OTHER
  }

  /** Whether a node of that name writes a shuffle; a broadcast writes none. */
  public static boolean isExchange(String nodeName) {
    return nodeName.equals("Exchange");
  }

  /** From a text such as {@code Exchange hashpartitioning(k#1L, 200), ENSURE_REQUIREMENTS, [plan_id=20]}. */
  public static Exchange of(String simpleString) {
    String text = simpleString.startsWith("Exchange ") ? simpleString.substring("Exchange ".length()) : simpleString;
    return new Exchange(partitioning(text), partitions(text));
  }

  /** The number before the parenthesis that closes the first one. */
  private static long partitions(String text) {
    int depth = 0;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (c == ')' && depth == 0) {
        return numberBefore(text, i);
      }
    }
    return 0;
  }

  private static long numberBefore(String text, int end) {
    int start = end;
    while (start > 0 && end - start < 9 && text.charAt(start - 1) >= '0' && text.charAt(start - 1) <= '9') {
      start--;
    }
    return start == end ? 0 : Long.parseLong(text.substring(start, end));
  }

  private static Partitioning partitioning(String text) {
    if (text.startsWith("hashpartitioning")) {
      return Partitioning.HASH;
    }
    if (text.startsWith("rangepartitioning")) {
      return Partitioning.RANGE;
    }
    if (text.startsWith("RoundRobinPartitioning")) {
      return Partitioning.ROUND_ROBIN;
    }
    return text.startsWith("SinglePartition") ? Partitioning.SINGLE : Partitioning.OTHER;
  }
}
