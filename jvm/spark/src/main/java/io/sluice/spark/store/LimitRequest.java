package io.sluice.spark.store;

import java.io.Serializable;

/**
 * The message with which an executor asks the driver how many bytes of map output it may keep in memory. The answer is
 * a {@code Long}: {@link #UNCHANGED} while the setting holds.
 */
public record LimitRequest() implements Serializable {
  private static final long serialVersionUID = 1L;
  /** The answer of a driver that has set no other limit than the setting's. */
  public static final long UNCHANGED = -1;
}
