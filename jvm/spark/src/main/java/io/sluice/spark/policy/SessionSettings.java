package io.sluice.spark.policy;

import io.sluice.spark.conf.Setting;
import io.sluice.spark.conf.SluiceSettings;
import org.apache.spark.sql.internal.SQLConf;

import org.apache.spark.sql.internal.SQLConf$;

/**
 * Settings that a running SQL session may change. {@link ShufflePolicy} asks for every shuffle, but only where Spark
 * SQL is on the class path: applications without it never load this class.
 */
public final class SessionSettings {
  private SessionSettings() {}

  /** {@code spark.sluice.enabled} of the session that is registering a shuffle on this thread. */
  static boolean enabled(boolean applicationDefault) {
    return value(SluiceSettings.ENABLED, Boolean.toString(applicationDefault));
  }

  /** Whether the session that is making a plan on this thread wants Sluice's sorts in it. */
  public static boolean sortsRows() {
    return value(SluiceSettings.ENABLED, SluiceSettings.ENABLED.defaultText())
        && value(SluiceSettings.SQL_SORT, SluiceSettings.SQL_SORT.defaultText());
  }

  private static boolean value(Setting<Boolean> setting, String defaultText) {
    SQLConf session = SQLConf$.MODULE$.get();
    return setting.parse(session.getConfString(setting.key(), defaultText));
  }
}
