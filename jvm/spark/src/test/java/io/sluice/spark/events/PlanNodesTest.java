package io.sluice.spark.events;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.junit.jupiter.api.Test;

import org.apache.spark.scheduler.JobSucceeded$;

/** The nodes of plans that stay Spark's, from where they are counted to the event. */
class PlanNodesTest {
  private final PlanNodes nodes = new PlanNodes();
  private final List<SparkListenerEvent> posted = new ArrayList<>();

  private static void endJob(PlanNodesListener listener) {
    listener.onJobEnd(new SparkListenerJobEnd(0, 0, JobSucceeded$.MODULE$));
  }

  @Test
  void countsArePostedWhenTheyHaveChanged() {
    PlanNodesListener listener = new PlanNodesListener(() -> nodes, posted::add);
    endJob(listener);
    assertEquals(0, posted.size());
    nodes.sortLeft("of a key");
    nodes.sortLeft("of a key");
    nodes.exchangeLeft("of a subquery");
    endJob(listener);
    endJob(listener);
    assertEquals(1, posted.size());
    PlanNodesLeft event = (PlanNodesLeft) posted.get(0);
    assertEquals(Map.of("of a key", 2L), event.sorts());
    assertEquals(Map.of("of a subquery", 1L), event.exchanges());
    nodes.exchangeLeft("of a subquery");
    endJob(listener);
    assertEquals(Map.of("of a subquery", 2L), ((PlanNodesLeft) posted.get(1)).exchanges());
  }

  @Test
  void withoutAManagerAndWithABrokenBusNothingFails() {
    endJob(new PlanNodesListener(() -> null, posted::add));
    nodes.sortLeft("of a key");
    endJob(new PlanNodesListener(() -> nodes, event -> {
      throw new IllegalStateException("broken on purpose");
    }));
    assertEquals(0, posted.size());
  }

  @Test
  void reasonsAreBounded() {
    for (int i = 0; i < 1_000; i++) {
      nodes.sortLeft("reason " + i);
    }
    Map<String, Long> sorts = nodes.takeChanged().orElseThrow().sorts();
    assertEquals(1_000, sorts.values().stream().mapToLong(Long::longValue).sum());
    assertTrue(sorts.get(PlanNodesLeft.OTHER) > 900);
  }
}
