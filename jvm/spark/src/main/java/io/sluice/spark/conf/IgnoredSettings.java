package io.sluice.spark.conf;

import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.spark.SparkConf;

/**
 * Settings of Sluice that a running session has set and nothing reads: Spark takes every name that a session sets, and
 * asks nobody whether it is one.
 */
public final class IgnoredSettings {
  private IgnoredSettings() {}

  /**
   * The reason for each, by the setting as {@code key = "value"}; sorted.
   *
   * @param session what the session has set, the application's settings included
   * @param application the application's settings, which {@link Settings} has checked
   */
  public static Map<String, String> of(Map<String, String> session, SparkConf application) {
    Map<String, String> ignored = new TreeMap<>();
    session.forEach((key, value) -> {
      if (key.startsWith(SluiceSettings.PREFIX) && !value.equals(application.get(key, null))) {
        why(key).ifPresent(why -> ignored.put(key + " = \"" + value + "\"", why));
      }
    });
    return ignored;
  }

  /** Empty for a setting that sessions can change. */
  private static Optional<String> why(String key) {
    for (Setting<?> known : SluiceSettings.all()) {
      if (known.key().equals(key)) {
        return known.perSession() ? Optional.empty()
            : Optional.of("it is fixed when the application starts (spark-submit --conf, spark-defaults.conf)");
      }
    }
    return Optional.of("no setting of Sluice has this name" + suggestion(key));
  }

  /** Behind an unknown key, the known one that is probably meant. */
  static String suggestion(String key) {
    return SimilarName.of(key, SluiceSettings.all().stream().map(Setting::key).toList())
        .map(name -> " (did you mean " + name + "?)").orElse("");
  }
}
