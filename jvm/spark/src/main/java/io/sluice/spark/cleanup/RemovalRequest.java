package io.sluice.spark.cleanup;

import java.io.Serializable;

/**
 * The message with which an executor asks the driver for removals of shuffles; the answer is
 * {@link OutputRemovals#since}.
 *
 * @param from the number that the last answer began with; 0 at first
 */
public record RemovalRequest(long from) implements Serializable {
  private static final long serialVersionUID = 1L;
}
