package io.sluice.nativebridge;

import java.util.Arrays;
import java.util.List;

/**
 * Figures of one arena of the native core at one moment. Bytes include rounding; counts are since the arena was made.
 *
 * @param limitBytes the limit on leased bytes
 * @param leasedBytes bytes on lease
 * @param peakLeasedBytes the most bytes ever on lease at once, or a little more
 * @param leases leases made
 * @param releases leases released
 * @param refusedByLimit leases refused by the limit
 * @param refusedByProvider leases refused because the system gave no memory
 * @param lastRefusalRequestedBytes bytes that the last refused lease asked for; 0 when none was refused
 * @param lastRefusalLeasedBytes bytes that were leased then
 * @param lastRefusalLimitBytes the limit at that time
 * @param reservedBytes bytes mapped from the system
 * @param touchedBytes bytes of these that may be resident, at most
 * @param freeBytes bytes of these in free extents
 * @param purgedBytes bytes given back to the system because nothing used them for a while
 */
public record ArenaStatistics(long limitBytes, long leasedBytes, long peakLeasedBytes, long leases, long releases,
    long refusedByLimit, long refusedByProvider, long lastRefusalRequestedBytes, long lastRefusalLeasedBytes,
    long lastRefusalLimitBytes, long reservedBytes, long touchedBytes, long freeBytes, long purgedBytes) {

  /** Where the native core puts each figure; asked of it once, when this class is first used. */
  private static final class Layout {
    static final List<String> NAMES = Arrays.asList(NativeCore.arenaStatisticsNames().split(","));
    static final int LIMIT = indexOf("limit_bytes");
    static final int LEASED = indexOf("leased_bytes");
    static final int PEAK_LEASED = indexOf("peak_leased_bytes");
    static final int LEASES = indexOf("leases");
    static final int RELEASES = indexOf("releases");
    static final int REFUSED_BY_LIMIT = indexOf("refused_by_limit");
    static final int REFUSED_BY_PROVIDER = indexOf("refused_by_provider");
    static final int LAST_REFUSAL_REQUESTED = indexOf("last_refusal_requested_bytes");
    static final int LAST_REFUSAL_LEASED = indexOf("last_refusal_leased_bytes");
    static final int LAST_REFUSAL_LIMIT = indexOf("last_refusal_limit_bytes");
    static final int RESERVED = indexOf("reserved_bytes");
    static final int TOUCHED = indexOf("touched_bytes");
    static final int FREE = indexOf("free_bytes");
    static final int PURGED = indexOf("purged_bytes");

    private static int indexOf(String name) {
      int index = NAMES.indexOf(name);
      if (index < 0) {
        throw new IllegalStateException("the native library's arena statistics have no " + name + " but " + NAMES
            + ": the jar and the library are of different builds");
      }
      return index;
    }
  }

  static ArenaStatistics now(boolean received) {
    long[] values = new long[Layout.NAMES.size()];
    NativeException.check(NativeCore.arenaStatistics(received, values));
    return new ArenaStatistics(values[Layout.LIMIT], values[Layout.LEASED], values[Layout.PEAK_LEASED],
        values[Layout.LEASES], values[Layout.RELEASES], values[Layout.REFUSED_BY_LIMIT],
        values[Layout.REFUSED_BY_PROVIDER], values[Layout.LAST_REFUSAL_REQUESTED], values[Layout.LAST_REFUSAL_LEASED],
        values[Layout.LAST_REFUSAL_LIMIT], values[Layout.RESERVED], values[Layout.TOUCHED], values[Layout.FREE],
        values[Layout.PURGED]);
  }
}
