package io.sluice.spark.events;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The nodes of SQL plans that stay Spark's where the session wants Sluice's, those of plans that are only explained
 * too, since the application started; posted when a job starts or ends, if it has changed. A later event replaces an
 * earlier one.
 */
public final class PlanNodesLeft extends SluiceEvent {
  /** The reason of nodes for whose own there is no room. */
  public static final String OTHER = "of another reason, which the driver's log has";
  private static final int MOST_TEXT_BYTES = 120;
  /** Of the reasons of each kind of node, so that an event has at most a kilobyte. */
  private static final int MOST_BYTES = 430;
  /** Quotation marks, colon, comma, and a number. */
  private static final int AROUND = 20;

  private final Map<String, Long> sorts;
  private final Map<String, Long> exchanges;

  @JsonCreator
  PlanNodesLeft(@JsonProperty("version") int version, @JsonProperty("sorts") Map<String, Long> sorts,
      @JsonProperty("exchanges") Map<String, Long> exchanges) {
    super(version);
    this.sorts = sorts == null ? Collections.emptyMap() : sorts;
    this.exchanges = exchanges == null ? Collections.emptyMap() : exchanges;
  }

  /**
   * An event of this version of Sluice.
   *
   * @param sorts how many for each reason, which completes "because …"
   * @param exchanges likewise
   */
  public static PlanNodesLeft of(Map<String, Long> sorts, Map<String, Long> exchanges) {
    return new PlanNodesLeft(VERSION, kept(sorts), kept(exchanges));
  }

  /** Those with the largest numbers; the others are added up. */
  private static Map<String, Long> kept(Map<String, Long> all) {
    List<Map.Entry<String, Long>> sorted = new ArrayList<>(all.entrySet());
    sorted.sort(Map.Entry.<String, Long>comparingByValue().reversed().thenComparing(Map.Entry.comparingByKey()));
    Map<String, Long> kept = new LinkedHashMap<>();
    int left = MOST_BYTES - OTHER.length() - AROUND;
    for (Map.Entry<String, Long> each : sorted) {
      String reason = Texts.atMost(MOST_TEXT_BYTES, each.getKey());
      left -= Texts.bytes(reason) + AROUND;
      kept.merge(left >= 0 ? reason : OTHER, Math.min(each.getValue(), Figures.MOST), Long::sum);
    }
    return kept;
  }

  /** Sorts that Spark does, by the reason in words. */
  public Map<String, Long> sorts() {
    return sorts;
  }

  /** Exchanges whose partitions Spark's function finds, by the reason in words. */
  public Map<String, Long> exchanges() {
    return exchanges;
  }
}
