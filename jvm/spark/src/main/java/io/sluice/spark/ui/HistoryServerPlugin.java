package io.sluice.spark.ui;

import io.sluice.spark.conf.SluiceSettings;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.status.AppHistoryServerPlugin;
import org.apache.spark.status.ElementTrackingStore;
import org.apache.spark.ui.SparkUI;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.immutable.$colon$colon;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;

/**
 * Gives a History Server that has the jar on its class path the tab for applications whose log has Sluice's events.
 * Named in {@code META-INF/services}. One class for every line, see {@link Scala212HistoryServerPlugin}.
 */
public final class HistoryServerPlugin implements AppHistoryServerPlugin, Scala212HistoryServerPlugin {
  private static final Logger LOG = LoggerFactory.getLogger(HistoryServerPlugin.class);
  /** After the tabs of Spark's own plugins, SQL's and streaming's. */
  private static final int ORDER = 100;

  @Override
  @SuppressWarnings({"unchecked", "rawtypes"}) // Nil is a list of anything.
  public Seq<SparkListener> createListeners(SparkConf conf, ElementTrackingStore store) {
    return new $colon$colon<>(new StatusListener(store, retainedShuffles(conf)),
        (scala.collection.immutable.List) Nil$.MODULE$);
  }

  /** A History Server starts whatever its settings say of Sluice. */
  private static int retainedShuffles(SparkConf conf) {
    String key = SluiceSettings.UI_RETAINED_SHUFFLES.key();
    String byDefault = SluiceSettings.UI_RETAINED_SHUFFLES.defaultText();
    try {
      return (int) (long) SluiceSettings.UI_RETAINED_SHUFFLES.parse(conf.get(key, byDefault));
    } catch (RuntimeException e) {
      LOG.warn("{}; {} is used", e.getMessage(), byDefault);
      return Integer.parseInt(byDefault);
    }
  }

  @Override
  public void setupUI(SparkUI ui) {
    SluiceTab.attachToHistory(ui);
  }

  @Override
  public int displayOrder() {
    return ORDER;
  }
}
