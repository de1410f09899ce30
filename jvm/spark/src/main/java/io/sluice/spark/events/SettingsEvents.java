package io.sluice.spark.events;

import io.sluice.spark.conf.Settings;
import io.sluice.spark.conf.SluiceSettings;
import io.sluice.spark.conf.Store;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.spark.SparkConf;
import scala.Tuple2;

/** Makes the event of an application's settings. */
public final class SettingsEvents {
  private SettingsEvents() {}

  /** @param conf of the application */
  public static SettingsInForce of(Settings settings, SparkConf conf) {
    String version = Optional.ofNullable(SettingsEvents.class.getPackage().getImplementationVersion()).orElse("");
    String[] axes = {word(settings.codec()), word(settings.store().kind()), word(settings.transport().transport())};
    long cacheBytes = settings.store().kind() == Store.CACHE ? settings.store().cacheLimit().bytes() : 0;
    return SettingsInForce.of(version, settings.enabled(), settings.mode().name(), axes,
        settings.memory().totalBytes(), settings.memory().offHeapEnabled(), cacheBytes, given(conf));
  }

  private static String word(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }

  private static Map<String, String> given(SparkConf conf) {
    Map<String, String> given = new TreeMap<>();
    for (Tuple2<String, String> entry : conf.getAll()) {
      if (entry._1().startsWith(SluiceSettings.PREFIX)) {
        given.put(entry._1(), entry._2());
      }
    }
    return given;
  }
}
