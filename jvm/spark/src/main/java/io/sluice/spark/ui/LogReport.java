package io.sluice.spark.ui;

import io.sluice.spark.compat.SparkEvents;
import io.sluice.spark.conf.SluiceSettings;
import io.sluice.spark.metrics.Counter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerApplicationStart;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.util.kvstore.InMemoryStore;

/**
 * What the tab shows of an application, as a part of a page that needs no Spark: made of the lines of its event log,
 * with Spark's classes. One thread, one log.
 *
 * <p>It has no links, because there is nothing that they could lead to.
 */
public final class LogReport {
  private static final String OURS = "{\"Event\":\"io.sluice.spark.events.";
  private static final String SPARKS = "{\"Event\":\"SparkListener";
  private static final List<String> WANTED = List.of("ApplicationStart\"", "ApplicationEnd\"", "JobStart\"",
      "StageSubmitted\"", "StageCompleted\"", "TaskEnd\"", "ExecutorRemoved\"");
  /** A page with all shuffles of a large application would be of no use. */
  private static final int MOST_SHUFFLES = 50;
  private static final int MOST_TIMELINES = 5;

  private final InMemoryStore kvStore = new InMemoryStore();
  private final StatusStore store = new StatusStore(kvStore);
  private final StatusListener listener = new StatusListener(kvStore,
      Integer.parseInt(SluiceSettings.UI_RETAINED_SHUFFLES.defaultText()));
  private String name = "";
  private String id = "";

  /** Whether the line with this beginning has an event that is needed. */
  public static boolean wants(String beginning) {
    return beginning.startsWith(OURS) || beginning.startsWith(SPARKS)
        && WANTED.stream().anyMatch(event -> beginning.startsWith(event, SPARKS.length()));
  }

  /**
   * Takes a line.
   *
   * @throws RuntimeException when it has no event, or one of another version that cannot be read
   */
  public void take(String line) {
    SparkListenerEvent event = SparkEvents.fromJson(line);
    if (event instanceof SparkListenerApplicationStart start) {
      name = start.appName();
      id = start.appId().isDefined() ? start.appId().get() : "";
    } else if (event instanceof SparkListenerJobStart job) {
      listener.onJobStart(job);
    } else if (event instanceof SparkListenerStageSubmitted stage) {
      listener.onStageSubmitted(stage);
    } else if (event instanceof SparkListenerStageCompleted stage) {
      listener.onStageCompleted(stage);
    } else if (event instanceof SparkListenerTaskEnd task) {
      listener.onTaskEnd(task);
    } else if (event instanceof SparkListenerExecutorRemoved executor) {
      listener.onExecutorRemoved(executor);
    } else if (event instanceof SparkListenerApplicationEnd end) {
      listener.onApplicationEnd(end);
    } else {
      listener.onOtherEvent(event);
    }
  }

  /** What the application was called, as it said. */
  public String application() {
    return name.isEmpty() ? "an application without a name" : name;
  }

  /** Whether the log says anything of Sluice. */
  public boolean hasSluice() {
    return store.hasApplication();
  }

  /**
   * The application's part of the page.
   *
   * @param source where the log is
   * @param fault what is wrong with it; empty for nothing
   */
  public String html(String source, String fault) {
    Html html = new Html();
    html.raw("<h2>").text(application()).raw("</h2>\n<p class=\"weak\">").text((id.isEmpty() ? "" : id + ", ") + source)
        .raw("</p>\n");
    if (!fault.isEmpty()) {
      html.raw("<p>").text("The log was read as far as it goes: " + fault + ".").raw("</p>\n");
    }
    if (!hasSluice()) {
      return html.raw("<p>The log has nothing of Sluice: the application ran without it, or without its plugin ")
          .raw("(spark.plugins=io.sluice.spark.SluicePlugin). What Sluice would have saved, says ")
          .raw("'java -jar sluice.jar advise'.</p>\n")
          .toString();
    }
    html.raw("<h3>What keeps Sluice from doing more</h3>").raw(new DiagnosisContent(store).html(parameter -> null))
        .raw(new OverviewContent(store).html(parameter -> null));
    shuffles(html);
    return html.raw("<h3>Executors</h3>").raw(new ExecutorsContent(store).plainHtml()).raw("\n").toString();
  }

  private void shuffles(Html html) {
    List<ShuffleRow> rows = new ArrayList<>(store.shuffles());
    rows.sort(Comparator.comparingLong((ShuffleRow row) -> row.of(Counter.WRITE_BLOCK_BYTES)).reversed()
        .thenComparing(ShuffleRow::shuffleId));
    html.raw("<h3>Shuffles</h3>");
    if (rows.size() > MOST_SHUFFLES) {
      html.raw("<p>").text("The " + MOST_SHUFFLES + " with the most bytes, of " + Amounts.count(rows.size()))
          .raw("</p>");
    }
    ShufflesContent.plainTable(html, rows.subList(0, Math.min(MOST_SHUFFLES, rows.size())));
    TimelineContent timelines = new TimelineContent(store);
    for (ShuffleRow row : rows.subList(0, Math.min(MOST_TIMELINES, rows.size()))) {
      timelines.shuffle(html, row);
    }
  }
}
