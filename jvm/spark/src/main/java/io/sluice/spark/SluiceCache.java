package io.sluice.spark;

import io.sluice.spark.conf.SluiceSettings;
import org.apache.spark.SparkEnv;

/**
 * The map outputs in memory, for programs: how much memory they may take can be changed while the application runs.
 * Called on the driver; from Python by {@code spark._jvm.io.sluice.spark.SluiceCache}.
 */
public final class SluiceCache {
  private SluiceCache() {}

  /**
   * Sets how many bytes of map output each executor keeps in memory, in place of {@code spark.sluice.cache.hostLimit}.
   * Executors learn it within a few seconds, later ones soon after their start. What is above a lower limit moves to
   * the disk, without disturbing readers; with a higher one, outputs that are read again and again come back. Where an
   * executor's container has less room, the executor keeps less, and logs a warning. Executors need {@code
   * spark.plugins}.
   *
   * @param size as in a setting, such as {@code 2g}
   * @throws SluiceException when {@code size} is no size or out of range, or shuffles of this application are not
   *     Sluice's
   */
  public static void setHostLimit(String size) {
    manager().setCacheLimit(SluiceSettings.CACHE_HOST_LIMIT.parse(size));
  }

  /** The bytes that were set last, by this class or by the setting. */
  public static long hostLimit() {
    return manager().cacheLimit();
  }

  private static SluiceShuffleManager manager() {
    SparkEnv env = SparkEnv.get();
    if (env != null && env.shuffleManager() instanceof SluiceShuffleManager manager) {
      return manager;
    }
    throw noManager();
  }

  static SluiceException noManager() {
    return new SluiceException("there is no application here whose spark.shuffle.manager is "
        + SluiceShuffleManager.class.getName());
  }
}
