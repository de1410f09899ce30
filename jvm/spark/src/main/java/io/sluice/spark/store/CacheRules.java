package io.sluice.spark.store;

import java.util.Optional;
import org.apache.spark.SparkConf;

/** Which applications may keep map outputs in memory; decided by settings alone, so alike in all processes. */
public final class CacheRules {
  private CacheRules() {}

  /** Why map outputs of this application must be files at once; completes "because …". */
  public static Optional<String> refusal(SparkConf conf) {
    if (conf.getBoolean("spark.shuffle.service.enabled", false)) {
      return Optional.of("spark.shuffle.service.enabled is true, and the service outlives the executors' memory");
    }
    if (conf.getBoolean("spark.shuffle.sync", false)) {
      return Optional.of("spark.shuffle.sync is true, which wants map outputs on the disk before a task ends");
    }
    return Optional.empty();
  }
}
