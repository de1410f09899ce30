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
    List<PageContent> pages = pages(rows);
    Navigation navigation = new Navigation(pages);
    pages.forEach(page -> attachPage(new SluicePage(this, page, navigation)));
  }

  /** What the tab shows, in the order of its navigation. */
  static List<PageContent> pages(StatusStore rows) {
    return Arrays.asList(new OverviewContent(rows), new ShufflesContent(rows), new TimelineContent(rows),
        new ExecutorsContent(rows), new DiagnosisContent(rows));
  }

  /**
   * Lets the store of an application that starts, and has a UI, follow its events. When that fails, it warns.
   *
   * @param retainedShuffles how many shuffles the tab remembers
   */
  public static void followEvents(SparkContext context, int retainedShuffles) {
    guarded(() -> {
      if (context.ui().isDefined()) {
        KVStore store = context.statusStore().store();
        context.listenerBus().addToStatusQueue(new StatusListener(store, retainedShuffles));
      }
    });
  }

  /**
   * Gives the UI of an application the tab. When that fails, it warns and leaves the UI as it is.
   *
   * <p>Must be called on the thread that makes {@code context}, after Spark has attached its own pages: on Spark 3.3 a
   * tab that comes before them is attached twice, on the newer lines one that comes meanwhile from another thread
   * disturbs a loop over the list of pages; either fails the application.
   */
  public static void attachTo(SparkContext context) {
    guarded(() -> {
      if (context.ui().isDefined()) {
        SparkUI ui = context.ui().get();
        ui.attachTab(new SluiceTab(ui, context.statusStore().store()));
      }
    });
  }

  /** Gives an application's UI in a History Server the tab, if there is anything to show. */
  static void attachToHistory(SparkUI ui) {
    guarded(() -> {
      KVStore store = ui.store().store();
      if (new StatusStore(store).hasApplication()) {
        ui.attachTab(new SluiceTab(ui, store));
      }
    });
  }

  private static void guarded(Runnable action) {
    try {
      action.run();
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("Spark's UI gets no tab Sluice; the application and Spark's own pages are not concerned", e);
    }
  }
}
