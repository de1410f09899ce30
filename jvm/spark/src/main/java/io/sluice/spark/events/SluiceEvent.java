package io.sluice.spark.events;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * An event of Sluice on Spark's listener bus, and a line of JSON in Spark's event log, where {@code Event} is the name
 * of the class. Listeners get it through {@code SparkListener.onOtherEvent}. {@code docs/watching.md} documents the
 * fields.
 *
 * <p>What the field {@link #version} means: fields may be added without a new version, and a reader ignores fields that
 * it does not know. A field that is missing is null or 0. Immutable.
 */
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonAutoDetect(
    fieldVisibility = JsonAutoDetect.Visibility.ANY, getterVisibility = JsonAutoDetect.Visibility.NONE,
    isGetterVisibility = JsonAutoDetect.Visibility.NONE)
public abstract class SluiceEvent implements SparkListenerEvent {
  /** Of the events that this version of Sluice writes. */
  public static final int VERSION = 1;

  private final int version;

  SluiceEvent(int version) {
    this.version = version;
  }

  /** The version of the event's fields. */
  public int version() {
    return version;
  }
}
