package io.sluice.bench.run;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The {@code --conf key=value} arguments, in the order given; the last of a repeated key wins. */
public final class SparkConfArguments {

  private SparkConfArguments() {}

  /**
   * Splits each argument at its first equals sign.
   *
   * @throws IllegalArgumentException for an argument without one, or whose key is not Spark's
   */
  public static Map<String, String> parse(List<String> arguments) {
    Map<String, String> settings = new LinkedHashMap<>();
    for (String argument : arguments) {
      int equals = argument.indexOf('=');
      if (equals < 1 || !argument.startsWith("spark.")) {
        throw new IllegalArgumentException("--conf takes spark.<key>=<value>, not '" + argument + "'");
      }
      settings.put(argument.substring(0, equals).strip(), argument.substring(equals + 1).strip());
    }
    return settings;
  }
}
