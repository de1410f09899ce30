package io.sluice.bench.run;

import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A Spark master as users write it. {@code local-cluster[executors,cores]} may leave out the executors'
 * memory (Spark's form has a third number, in MiB), which is then filled in.
 *
 * @param url what Spark is given
 * @param executorMemoryMib heap of one executor; empty unless the master is a {@code local-cluster} or a
 * {@link Cluster}
 * @param driverMemoryMib heap of the driver: as an executor's where the driver is the executor
 */
public record Master(String url, OptionalInt executorMemoryMib, int driverMemoryMib) {

  /** Enough to plan and schedule. */
  static final int DRIVER_MIB = 1024;
  private static final Pattern LOCAL_CLUSTER =
      Pattern.compile("local-cluster\\[\\s*(\\d+)\\s*,\\s*(\\d+)\\s*(?:,\\s*(\\d+)\\s*)?]");

  /** How many executors there are; empty unless the master is a {@code local-cluster}. */
  public OptionalInt executors() {
    Matcher matcher = LOCAL_CLUSTER.matcher(url);
    return matcher.matches() ? OptionalInt.of(Integer.parseInt(matcher.group(1))) : OptionalInt.empty();
  }

  /** The cores of all executors together, likewise. */
  public OptionalInt cores() {
    Matcher matcher = LOCAL_CLUSTER.matcher(url);
    return matcher.matches()
        ? OptionalInt.of(Integer.parseInt(matcher.group(1)) * Integer.parseInt(matcher.group(2))) : OptionalInt.empty();
  }

  /** Reads {@code text}; executors whose memory it does not tell get {@code defaultMib} of heap. */
  public static Master parse(String text, int defaultMib) {
    Matcher matcher = LOCAL_CLUSTER.matcher(text);
    if (!matcher.matches()) {
      if (text.startsWith("local-cluster")) {
        throw new IllegalArgumentException("master '" + text
            + "' is not of the form local-cluster[executors,cores] or local-cluster[executors,cores,MiB]");
      }
      boolean inDriver = text.equals("local") || text.startsWith("local[");
      return new Master(text, OptionalInt.empty(), inDriver ? defaultMib : DRIVER_MIB);
    }
    int memoryMib = matcher.group(3) == null ? defaultMib : Integer.parseInt(matcher.group(3));
    String url = "local-cluster[" + matcher.group(1) + "," + matcher.group(2) + "," + memoryMib + "]";
    return new Master(url, OptionalInt.of(memoryMib), DRIVER_MIB);
  }
}
