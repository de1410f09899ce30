package io.sluice.doctor.spark;

import io.sluice.doctor.check.Amount;
import io.sluice.doctor.host.Host;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The memory outside the heap that settings give Sluice in each executor. */
public final class SluiceMemory {
  private static final String STORE = "spark.sluice.store";
  private static final Set<String> MODES_WITH_CACHE = Set.of("UCX", "CACHE_ONLY");
  private static final Pattern SIZE = Pattern.compile("(\\d{1,12})([kmgt]?)b?");

  private SluiceMemory() {}

  /**
   * Bytes, as far as settings name them: {@code spark.sluice.memory.limit} where it is a size, and {@code
   * spark.sluice.cache.hostLimit} where map output is kept in memory.
   *
   * @param home of the Spark installation, whose {@code spark-defaults.conf} is read; empty when none is known
   * @param given settings that precede those of the file
   */
  public static long ofExecutor(Host host, String home, Map<String, String> given) {
    Map<String, String> settings = new TreeMap<>(home.isEmpty() ? Map.of() : new SparkHome(home).defaults(host));
    settings.putAll(given);
    String mode = settings.getOrDefault("spark.sluice.mode", "").toUpperCase(Locale.ROOT);
    boolean cache = settings.containsKey(STORE) ? settings.get(STORE).equalsIgnoreCase("cache")
        : MODES_WITH_CACHE.contains(mode);
    long cached = cache ? bytes(settings.getOrDefault("spark.sluice.cache.hostLimit", "1g")) : 0;
    return cached + bytes(settings.getOrDefault("spark.sluice.memory.limit", ""));
  }

  /** A size as Spark takes it, in bytes; 0 for what is none. */
  static long bytes(String text) {
    Matcher size = SIZE.matcher(text.strip().toLowerCase(Locale.ROOT));
    if (!size.matches()) {
      return 0;
    }
    int unit = size.group(2).isEmpty() ? 0 : 1 + "kmgt".indexOf(size.group(2));
    // Far from overflow, so that sums are none either.
    return (long) Math.min(Long.MAX_VALUE >> 2, Long.parseLong(size.group(1)) * Math.pow(Amount.KIB, unit));
  }
}
