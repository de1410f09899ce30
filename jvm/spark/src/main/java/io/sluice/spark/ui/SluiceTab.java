package io.sluice.spark.ui;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.ui.SparkUI;
import org.apache.spark.ui.SparkUITab;
import org.apache.spark.util.kvstore.KVStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The tab in Spark's UI. */
public final class SluiceTab extends SparkUITab {
  private static final Logger LOG = LoggerFactory.getLogger(SluiceTab.class);

  private SluiceTab(SparkUI ui, KVStore store) {
    super(ui, "sluice");
    StatusStore rows = new StatusStore(store);
    List<PageContent> pages = Arrays.asList(new OverviewContent(rows), new ShufflesContent(rows),
        new ExecutorsContent(rows), new DiagnosisContent(rows));
    Navigation navigation = new Navigation(pages);
    pages.forEach(page -> attachPage(new SluicePage(this, page, navigation)));
  }

  /**
   * Gives the UI of a running application the tab, unless it has no UI. When that fails, it warns and leaves the UI as it
   * is.
   *
   * @param retainedShuffles how many shuffles the tab remembers
   */
  public static void attachTo(SparkContext context, int retainedShuffles) {
    try {
      if (context.ui().isDefined()) {
        KVStore store = context.statusStore().store();
        context.listenerBus().addToStatusQueue(new StatusListener(store, retainedShuffles));
        attachTo(context.ui().get(), store);
      }
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("Spark's UI gets no tab Sluice; the application is not concerned", e);
    }
  }

  static void attachTo(SparkUI ui, KVStore store) {
    ui.attachTab(new SluiceTab(ui, store));
  }
}
