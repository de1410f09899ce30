package io.sluice.spark.policy;

import io.sluice.spark.conf.IgnoredSettings;
import io.sluice.spark.conf.Setting;
import io.sluice.spark.conf.SluiceSettings;
import io.sluice.spark.conf.SqlCleanup;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.internal.SQLConf;
import scala.Tuple2;
import scala.collection.Iterator;

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
    return findsPartitions() && enabledWith(SluiceSettings.SQL_SORT);
  }

  /** Whether the session that is making a plan on this thread wants Sluice to find the partitions of rows. */
  public static boolean findsPartitions() {
    return enabledWith(SluiceSettings.SQL_EXCHANGE);
  }

  /** Whether the session that is making a plan on this thread wants batches of columns to be written as they are. */
  public static boolean takesBatches() {
    return enabledWith(SluiceSettings.COLUMNAR);
  }

  /** Whether the session whose query is planned on this thread wants Comet's exchanges to be Sluice's. */
  public static boolean comet() {
    return enabledWith(SluiceSettings.COMET);
  }

  private static boolean enabledWith(Setting<Boolean> setting) {
    return value(SluiceSettings.ENABLED, SluiceSettings.ENABLED.defaultText())
        && value(setting, setting.defaultText());
  }

  /** {@code spark.sluice.sql.cleanup} of the session whose execution is registering a shuffle on this thread. */
  public static SqlCleanup cleanup(SqlCleanup applicationDefault) {
    return value(SluiceSettings.SQL_CLEANUP, applicationDefault.name());
  }

  /** What the session that is registering a shuffle on this thread has set in vain, with the reasons. */
  static Map<String, String> ignored(SparkConf application) {
    Map<String, String> set = new HashMap<>();
    Iterator<Tuple2<String, String>> each = SQLConf$.MODULE$.get().getAllConfs().iterator();
    while (each.hasNext()) {
      Tuple2<String, String> setting = each.next();
      if (setting._1().startsWith(SluiceSettings.PREFIX)) {
        set.put(setting._1(), setting._2());
      }
    }
    return IgnoredSettings.of(set, application);
  }

  private static <T> T value(Setting<T> setting, String defaultText) {
    SQLConf session = SQLConf$.MODULE$.get();
    return setting.parse(session.getConfString(setting.key(), defaultText));
  }
}
