package io.sluice.spark.compat;

import io.sluice.spark.SluiceException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import org.apache.spark.scheduler.SparkListenerEvent;

import org.apache.spark.util.JsonProtocol$;

/** Lines of event logs as events. Since Spark 3.4 Spark takes a line as text. */
public final class SparkEvents {
  private SparkEvents() {}

  /**
   * The event of a line.
   *
   * @throws IllegalArgumentException when it is none, or one of a class that is not there
   * @throws SluiceException on Spark 3.3
   */
  public static SparkListenerEvent fromJson(String line) {
    try {
      return (SparkListenerEvent) method().invoke(JsonProtocol$.MODULE$, line);
    } catch (InvocationTargetException e) {
      throw new IllegalArgumentException("no event that Spark " + SparkLine.version() + " can read", e.getCause());
    } catch (IllegalAccessException e) {
      throw new IllegalStateException("Scala's methods are public", e);
    }
  }

  private static Method method() {
    try {
      return JsonProtocol$.class.getMethod("sparkEventFromJson", String.class);
    } catch (NoSuchMethodException e) {
      throw new SluiceException(
          "event logs are read by Spark's classes of 3.4 or later, and these are of " + SparkLine.version(), e);
    }
  }
}
