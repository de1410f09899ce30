package io.sluice.spark.policy;

import io.sluice.spark.conf.SluiceSettings;
import org.apache.spark.sql.internal.SQLConf;

import org.apache.spark.sql.internal.SQLConf$;

/**
 * Settings that a running SQL session may change. {@link ShufflePolicy} asks for every shuffle, but only where Spark
 * SQL is on the class path: applications without it never load this class.
 */
final class SessionSettings {
  private SessionSettings() {}

  /** {@code spark.sluice.enabled} of the session that is registering a shuffle on this thread. */
  static boolean enabled(boolean applicationDefault) {
    SQLConf session = SQLConf$.MODULE$.get();
    String key = SluiceSettings.ENABLED.key();
    return SluiceSettings.ENABLED.parse(session.getConfString(key, Boolean.toString(applicationDefault)));
  }
}
