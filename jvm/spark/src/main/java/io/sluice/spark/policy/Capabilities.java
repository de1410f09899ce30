package io.sluice.spark.policy;

import io.sluice.spark.conf.Codec;
import io.sluice.spark.conf.Settings;
import io.sluice.spark.conf.Store;
import io.sluice.spark.conf.Transport;
import io.sluice.spark.store.CacheRules;
import io.sluice.spark.transport.TransportRules;
import java.util.Optional;
import org.apache.spark.SparkConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which features beyond data files and Spark's block transfer this application uses. This follows from the settings
 * alone, so it is the same in the driver and in all executors. An executor may still be unable to use a feature.
 *
 * @param oneSided whether blocks of other executors are read one-sidedly
 * @param cache whether map outputs are kept in memory
 */
public record Capabilities(boolean oneSided, boolean cache) {
  private static final Logger LOG = LoggerFactory.getLogger(Capabilities.class);
  private static final String READ_HOST_LOCAL_DISK = "spark.shuffle.readHostLocalDisk";

  /**
   * Logs why a requested feature is not used: as a warning on the driver, where users look.
   *
   * <p>With the cache, on the driver, {@code spark.shuffle.readHostLocalDisk} becomes false: otherwise Spark would open
   * the data files of other executors on the same host. With the cache these are symbolic links to memory files under
   * {@code /proc}, and in another PID namespace such a path does not exist or is another file. Executors fetch their
   * settings from the driver later, so they get the changed value.
   */
  public static Capabilities of(SparkConf conf, Settings settings, boolean isDriver) {
    Optional<String> ofFormat =
        settings.codec() == Codec.SPARK ? TransportRules.refusalOfSparksFormat(conf) : Optional.empty();
    Optional<String> refusal = ofFormat.isPresent() ? ofFormat : TransportRules.refusal(conf);
    boolean oneSided = settings.transport().oneSided() && permitted(refusal,
        "Blocks travel by Spark's block transfer, not one-sidedly, because {}",
        isDriver && settings.transport().transport() == Transport.UCX);
    boolean cache = settings.store().kind() == Store.CACHE && permitted(CacheRules.refusal(conf),
        "Map output goes to files, not to memory, because {}", isDriver);
    if (cache && isDriver) {
      doNotOpenNeighboursFiles(conf);
    }
    return new Capabilities(oneSided, cache);
  }

  private static boolean permitted(Optional<String> refusal, String text, boolean warn) {
    if (refusal.isPresent() && warn) {
      LOG.warn(text, refusal.get());
    } else if (refusal.isPresent()) {
      LOG.info(text, refusal.get());
    }
    return refusal.isEmpty();
  }

  private static void doNotOpenNeighboursFiles(SparkConf conf) {
    if (conf.getBoolean(READ_HOST_LOCAL_DISK, false)) {
      LOG.warn("{} is true, but taken for false: map outputs are in memory, not on the disk", READ_HOST_LOCAL_DISK);
    }
    conf.set(READ_HOST_LOCAL_DISK, "false");
  }
}
