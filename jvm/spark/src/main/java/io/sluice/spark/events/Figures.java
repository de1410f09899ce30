package io.sluice.spark.events;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Numbers by name in events, so that each event has at most a kilobyte and no number is lost. */
final class Figures {
  /** Ten petabytes, or 115 days in nanoseconds; what is more is told as this. */
  static final long MOST = 9_999_999_999_999_999L;
  /** Quotation marks, colon, comma. */
  private static final int PUNCTUATION = 4;

  private Figures() {}

  /**
   * In as many parts as there are events needed, at least one, in the order of {@code figures}.
   *
   * @param mostBytes of a part in Spark's event log
   */
  static List<Map<String, Long>> parts(Map<String, Long> figures, int mostBytes) {
    List<Map<String, Long>> parts = new ArrayList<>();
    Map<String, Long> part = new LinkedHashMap<>();
    int bytes = 0;
    for (Map.Entry<String, Long> each : figures.entrySet()) {
      long value = Math.min(each.getValue(), MOST);
      int more = Texts.bytes(each.getKey()) + Long.toString(value).length() + PUNCTUATION;
      if (bytes + more > mostBytes && !part.isEmpty()) {
        parts.add(part);
        part = new LinkedHashMap<>();
        bytes = 0;
      }
      part.put(each.getKey(), value);
      bytes += more;
    }
    parts.add(part);
    return parts;
  }
}
