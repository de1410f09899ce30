package io.sluice.spark.metrics;

import java.io.Serializable;
import java.util.ArrayList;

/**
 * The executors that an executor may read one-sidedly, and how that goes.
 *
 * @param announced those that have announced themselves, the following ones included
 * @param connected those that it is connected with
 * @param failedIds those that could not be read and are left to Spark's block transfer for a while; of many, some
 * @param failed how many these are
 */
public record PeerReport(int announced, int connected, int failed, ArrayList<String> failedIds)
    implements
      Serializable {
  private static final long serialVersionUID = 1L;
  /** Of an executor without one-sided reads. */
  public static final PeerReport NONE = new PeerReport(0, 0, 0, new ArrayList<>());
}
