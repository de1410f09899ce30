package io.sluice.spark.events;

import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;

/**
 * Posts which nodes of SQL plans stay Spark's: plans are made before their jobs start, and with adaptive execution
 * between them. Used by the thread of one listener queue.
 */
public final class PlanNodesListener extends SparkListener {
  private final Supplier<PlanNodes> nodes;
  private final Poster poster;

  /**
   * @param nodes null while there is nothing that counts them
   * @param bus where events are posted
   */
  public PlanNodesListener(Supplier<PlanNodes> nodes, Consumer<SparkListenerEvent> bus) {
    this.nodes = nodes;
    this.poster = new Poster(bus);
  }

  @Override
  public void onJobStart(SparkListenerJobStart start) {
    post();
  }

  @Override
  public void onJobEnd(SparkListenerJobEnd end) {
    post();
  }

  private void post() {
    PlanNodes counted = nodes.get();
    if (counted != null) {
      counted.takeChanged().ifPresent(poster::post);
    }
  }
}
