package io.sluice.advisor.log;

import com.fasterxml.jackson.core.JsonParser;
import io.sluice.advisor.model.Exchange;
import io.sluice.advisor.model.SqlMetric;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads which exchanges the plan of a query has, and the numbers of the accumulators by which stages can be told to
 * write for them. The plan's text, which is most of such an event, is skipped.
 */
final class PlanParser {
  private static final int TEXT_LIMIT = 300;
  /** Exchanges of one plan that are kept. */
  private static final int MANY = 10_000;

  private final JsonParser json;
  private final Map<Long, Exchange> exchanges = new HashMap<>();
  private long execution = -1;
  private long startedMs;

  private PlanParser(JsonParser json) {
    this.json = json;
  }

  /** The plan of the event whose name has been read. */
  static PlanParser event(JsonParser json) throws IOException {
    PlanParser parser = new PlanParser(json);
    EventParser.rest(json, name -> {
      switch (name) {
        case "executionId" -> parser.execution = JsonFields.number(json);
        case "time" -> parser.startedMs = JsonFields.number(json);
        case "sparkPlanInfo" -> parser.node();
        default -> {}
      }
    });
    return parser;
  }

  long execution() {
    return execution;
  }

  /** 0 for an update of a plan. */
  long startedMs() {
    return startedMs;
  }

  /** Exchanges by the accumulator of what they wrote. */
  Map<Long, Exchange> exchanges() {
    return exchanges;
  }

  /** Children lie within a node, so this calls itself as deep as the plan is; the parser limits how deep. */
  private void node() throws IOException {
    String[] texts = {"", ""};
    List<Long> accumulators = new ArrayList<>();
    JsonFields.ofObject(json, field -> {
      switch (field) {
        case "nodeName" -> texts[0] = JsonFields.text(json, TEXT_LIMIT);
        case "simpleString" -> texts[1] = JsonFields.text(json, TEXT_LIMIT);
        case "children" -> JsonFields.ofArray(json, child -> node());
        case "metrics" -> JsonFields.ofArray(json, metric -> metric(accumulators));
        default -> {}
      }
    });
    if (Exchange.isExchange(texts[0]) && exchanges.size() < MANY) {
      accumulators.forEach(accumulator -> exchanges.put(accumulator, Exchange.of(texts[1])));
    }
  }

  private void metric(List<Long> accumulators) throws IOException {
    long[] id = {-1};
    String[] name = {""};
    JsonFields.ofObject(json, field -> {
      switch (field) {
        case "accumulatorId" -> id[0] = JsonFields.number(json);
        case "name" -> name[0] = JsonFields.text(json, TEXT_LIMIT);
        default -> {}
      }
    });
    if (name[0].equals(SqlMetric.DATA_SIZE)) {
      accumulators.add(id[0]);
    }
  }
}
