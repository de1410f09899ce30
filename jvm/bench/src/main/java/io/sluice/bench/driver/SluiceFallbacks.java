package io.sluice.bench.driver;

import org.apache.spark.SparkEnv;
import org.apache.spark.shuffle.ShuffleManager;

/**
 * Reads, in the driver process, how many shuffles Sluice has left to Spark; the decision is made where
 * shuffles are registered. By reflection, because the stock application runs without Sluice's jar.
 */
final class SluiceFallbacks {

  private static final String COUNTER = "io.sluice.spark.metrics.Counter";
  private static final String FALLEN_BACK = "SHUFFLES_STOCK";

  private SluiceFallbacks() {}

  /** Fallbacks since the application started; 0 when its shuffle manager is not Sluice's. */
  static long count() {
    ShuffleManager manager = SparkEnv.get().shuffleManager();
    if (!manager.getClass().getName().startsWith("io.sluice.spark.")) {
      return 0;
    }
    try {
      ClassLoader loader = manager.getClass().getClassLoader();
      Class<?> counterType = Class.forName(COUNTER, true, loader);
      Object counter = counterType.getField(FALLEN_BACK).get(null);
      Object counters = manager.getClass().getMethod("counters").invoke(manager);
      return (Long) counters.getClass().getMethod("get", counterType).invoke(counters, counter);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("Sluice's counter " + FALLEN_BACK + " cannot be read; sluice-bench.jar can "
          + "measure Sluice jars from commit 7370d80 on", e);
    }
  }
}
