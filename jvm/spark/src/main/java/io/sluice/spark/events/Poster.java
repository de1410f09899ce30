package io.sluice.spark.events;

import java.util.function.Consumer;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Posts events for a listener, which must not fail when the bus does: it would lose what it knows of stages that run.
 * The first failure is logged; the events of the others are missing. Used by one thread.
 */
final class Poster {
  private static final Logger LOG = LoggerFactory.getLogger(Poster.class);

  private final Consumer<SparkListenerEvent> bus;
  private boolean failed;

  Poster(Consumer<SparkListenerEvent> bus) {
    this.bus = bus;
  }

  void post(SparkListenerEvent event) {
    try {
      bus.accept(event);
    } catch (RuntimeException | LinkageError e) {
      if (!failed) {
        failed = true;
        LOG.warn("An event of Sluice is not in the event log and the UI, because it could not be posted (said once); "
            + "shuffles are not concerned", e);
      }
    }
  }
}
