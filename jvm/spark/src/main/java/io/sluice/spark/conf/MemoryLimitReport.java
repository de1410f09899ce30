package io.sluice.spark.conf;

import java.util.Optional;
import org.apache.spark.SparkConf;

/**
 * Prints the memory that shuffles of one executor will use with given settings, as executors log it when they start:
 * for people who size containers. Arguments are settings, {@code key=value}; needs Spark's jars on the class path.
 */
public final class MemoryLimitReport {
  private MemoryLimitReport() {}

  /**
   * The line for an application with {@code conf}, below it one for one-sided reads, if it has them, and the warnings
   * about its settings, if there are any.
   */
  public static String of(SparkConf conf) {
    Settings settings = Settings.from(conf);
    MemorySettings memory = settings.memory();
    String cache = settings.store().kind() == Store.CACHE ? line(settings.store().cacheLimit().warning()) : "";
    String transport = settings.transport().oneSided() ? oneSided(settings.transport()) : "";
    return memory.offHeapEnabled()
        ? "shuffles of one executor use Spark's off-heap memory, spark.memory.offHeap.size" + transport + cache
        : memory.limit().describe() + transport + line(memory.limit().warning()) + cache;
  }

  /** What one-sided reads take beside it. */
  private static String oneSided(TransportSettings transport) {
    return System.lineSeparator() + "one-sided reads take up to " + MemoryLimit.mib(transport.receiveLimitBytes())
        + " more for received blocks; on a machine with an RDMA device, copies of map outputs take up to "
        + MemoryLimit.mib(transport.maxMappedBytes())
        + " more (spark.sluice.transport.maxMappedBytes) where the device cannot register a file system's pages";
  }

  private static String line(Optional<String> warning) {
    return warning.map(text -> System.lineSeparator() + "WARNING: " + text).orElse("");
  }

  public static void main(String[] arguments) {
    SparkConf conf = new SparkConf(false);
    for (String argument : arguments) {
      String[] setting = argument.split("=", 2);
      if (setting.length < 2) {
        throw new IllegalArgumentException("\"" + argument + "\" is not a setting, key=value");
      }
      conf.set(setting[0], setting[1]);
    }
    System.out.println(of(conf));
  }
}
