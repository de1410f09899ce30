package io.sluice.doctor.perftest;

import java.util.Iterator;
import java.util.List;

/**
 * The parsed command line. A port of 0, of a process that listens, is any free one.
 *
 * @param connect whether this process reads, and does not listen
 * @param host to connect to, or to listen at; empty for all addresses
 */
record PerfTestOptions(boolean help, boolean connect, String host, int port, String ucxLibrary, double seconds) {
  private static final int DEFAULT_PORT = 13_400;
  private static final double MOST_SECONDS = 3_600;

  static final String HELP = """
      usage: java -jar JAR perftest --listen [[HOST:]PORT]      on one machine
             java -jar JAR perftest --connect HOST[:PORT]       on the other

      Reads memory of the process that listens, as executors read each other's map outputs, checks every
      byte, and says by which way and how fast. Nothing else has to be installed. Run both as the user
      and in the containers that run Spark's executors.

        --listen [[HOST:]PORT]  be read, until interrupted (port 13400, all addresses)
        --connect HOST[:PORT]   read, and print the verdict
        --seconds S             for each size of blocks (2)
        --ucx-library PATH      libucp.so.0 or its folder, as in spark.sluice.ucx.library
        --help                  this text

      UCX reads its own settings from the environment, for example UCX_NET_DEVICES=mlx5_0:1.
      Exit code: 0 one-sided reads work between the two, 1 they do not, 2 wrong arguments.
      """;

  /** @throws IllegalArgumentException saying which argument is wrong */
  static PerfTestOptions parse(List<String> arguments) {
    boolean help = false;
    String listen = null;
    String connect = null;
    String library = "";
    double seconds = 2;
    for (int i = 0; i < arguments.size(); i++) {
      String option = arguments.get(i);
      boolean last = i + 1 == arguments.size();
      switch (option) {
        case "--help", "-h" -> help = true;
        case "--listen" -> listen = last || arguments.get(i + 1).startsWith("--") ? "" : arguments.get(++i);
        case "--connect" -> connect = value(option, arguments.listIterator(++i));
        case "--ucx-library" -> library = value(option, arguments.listIterator(++i));
        case "--seconds" -> seconds = seconds(value(option, arguments.listIterator(++i)));
        default -> throw new IllegalArgumentException("unknown argument " + option);
      }
    }
    if (!help && (listen == null) == (connect == null)) {
      throw new IllegalArgumentException("give one of --listen and --connect HOST");
    }
    String place = connect != null ? connect : listen == null ? "" : listen;
    return new PerfTestOptions(help, connect != null, host(place, connect != null), port(place, connect != null),
        library, seconds);
  }

  private static String value(String option, Iterator<String> rest) {
    String value = rest.hasNext() ? rest.next() : "";
    if (value.isBlank() || value.startsWith("--")) {
      throw new IllegalArgumentException(option + " needs a value");
    }
    return value;
  }

  private static double seconds(String text) {
    try {
      double seconds = Double.parseDouble(text);
      if (seconds > 0 && seconds <= MOST_SECONDS) {
        return seconds;
      }
    } catch (NumberFormatException e) {
      // The message below says it.
    }
    throw new IllegalArgumentException("--seconds '" + text + "' is not a number above 0 and at most 3600");
  }

  /** What is in front of the last colon; without one, a name alone is a host for {@code --connect} only. */
  private static String host(String place, boolean connect) {
    int colon = place.lastIndexOf(':');
    String host = colon >= 0 ? place.substring(0, colon) : connect ? place : "";
    return host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
  }

  private static int port(String place, boolean connect) {
    int colon = place.lastIndexOf(':');
    String port = colon >= 0 ? place.substring(colon + 1) : connect ? "" : place;
    if (port.isEmpty()) {
      return DEFAULT_PORT;
    }
    if (!port.matches("\\d{1,5}") || Integer.parseInt(port) > 65_535) {
      throw new IllegalArgumentException("'" + place + "' has no port from 0 to 65535 behind its colon");
    }
    return Integer.parseInt(port);
  }
}
