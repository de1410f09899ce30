package io.sluice.doctor;

import io.sluice.doctor.mode.Mode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The parsed command line.
 *
 * @param ucxLibrary a file or folder, or empty
 * @param sparkHome a folder, or empty
 * @param localDirs folders, or none: those that Spark would take
 * @param settings of Spark, which precede those of {@code spark-defaults.conf}
 */
record Options(boolean json, boolean help, List<Mode> modes, String ucxLibrary, String sparkHome,
    List<String> localDirs, Map<String, String> settings) {
  static final String HELP = """
      usage: java -jar JAR doctor [OPTIONS]      (in a checkout: ./sluice doctor [OPTIONS])

      Looks at this machine and says which modes of Sluice can be used on it, and what is missing.
      Nothing is changed. Run it on a worker, as the user and in the container that run Spark.

        --mode MODE[,MODE]    the modes that the exit code is about (default: MULTITHREADED);
                              all are reported
        --spark-home DIR      a Spark installation to look at (default: SPARK_HOME)
        --local-dirs DIR[,…]  folders for shuffle files (default: SPARK_LOCAL_DIRS, or
                              spark.local.dir in spark-defaults.conf, or java.io.tmpdir)
        --conf KEY=VALUE      a setting of the application, where spark-defaults.conf has it not, as in a
                              pod of Kubernetes; may be given several times
        --ucx-library PATH    libucp.so.0 or its folder, as in spark.sluice.ucx.library
        --json                the report as JSON
        --help                this text

      Exit code: 0 the modes asked for are usable here, 1 one is not, 2 wrong arguments.

      The jar's other commands, each with --help: perftest (one-sided reads between two machines),
      advise (what Sluice would save, from event logs),
      report (what it did, from event logs), conf KEY=VALUE… (the memory that executors will use with
      these settings), conf --from FILE (settings of another shuffle manager).
      """;

  /** @throws IllegalArgumentException saying which argument is wrong */
  static Options parse(List<String> arguments) {
    boolean json = false;
    boolean help = false;
    List<Mode> modes = new ArrayList<>();
    String ucxLibrary = "";
    String sparkHome = "";
    List<String> localDirs = new ArrayList<>();
    Map<String, String> settings = new TreeMap<>();
    Iterator<String> rest = separated(arguments).iterator();
    while (rest.hasNext()) {
      String option = rest.next();
      switch (option) {
        case "--json" -> json = true;
        case "--help", "-h" -> help = true;
        case "--mode" -> list(value(option, rest)).forEach(name -> modes.add(mode(name)));
        case "--ucx-library" -> ucxLibrary = value(option, rest);
        case "--spark-home" -> sparkHome = value(option, rest);
        case "--local-dirs" -> localDirs.addAll(list(value(option, rest)));
        case "--conf" -> addSetting(settings, value(option, rest));
        default -> throw new IllegalArgumentException("unknown argument " + option);
      }
    }
    return new Options(json, help, modes.isEmpty() ? List.of(Mode.MULTITHREADED) : List.copyOf(modes), ucxLibrary,
        sparkHome, List.copyOf(localDirs), settings);
  }

  private static void addSetting(Map<String, String> settings, String keyAndValue) {
    int equals = keyAndValue.indexOf('=');
    if (equals < 0 || !keyAndValue.startsWith("spark.")) {
      throw new IllegalArgumentException("--conf " + keyAndValue + " is no setting of Spark: KEY=VALUE is wanted");
    }
    settings.put(keyAndValue.substring(0, equals).strip(), keyAndValue.substring(equals + 1).strip());
  }

  /** {@code --option=value} is {@code --option value}; a value may have further equals signs. */
  private static List<String> separated(List<String> arguments) {
    return arguments.stream().flatMap(argument -> argument.startsWith("--") && argument.contains("=")
        ? Arrays.stream(argument.split("=", 2)) : Stream.of(argument)).toList();
  }

  private static String value(String option, Iterator<String> rest) {
    String value = rest.hasNext() ? rest.next() : "";
    if (value.isBlank()) {
      throw new IllegalArgumentException(option + " needs a value");
    }
    return value;
  }

  private static List<String> list(String value) {
    return Arrays.stream(value.split(",")).map(String::strip).filter(part -> !part.isEmpty()).toList();
  }

  private static Mode mode(String name) {
    return Mode.named(name).orElseThrow(() -> new IllegalArgumentException("'" + name + "' is no mode; there are "
        + Stream.of(Mode.values()).map(Mode::name).collect(Collectors.joining(", "))));
  }
}
