package io.sluice.doctor.check;

import java.util.Locale;
import java.util.OptionalLong;

/** Amounts of memory as people write them. */
public final class Amount {
  public static final long KIB = 1L << 10;
  public static final long MIB = 1L << 20;
  public static final long GIB = 1L << 30;

  private Amount() {}

  /** Such as {@code 64 MiB} or {@code 1.5 GiB}. */
  public static String text(long bytes) {
    if (bytes >= 1024 * GIB) {
      return scaled(bytes, 1024 * GIB, "TiB");
    }
    if (bytes >= GIB) {
      return scaled(bytes, GIB, "GiB");
    }
    return bytes >= MIB ? scaled(bytes, MIB, "MiB") : bytes >= KIB ? scaled(bytes, KIB, "KiB") : bytes + " bytes";
  }

  private static String scaled(long bytes, long unit, String name) {
    double value = (double) bytes / unit;
    return (bytes % unit == 0 || value >= 100 ? Long.toString(Math.round(value))
        : String.format(Locale.ROOT, "%.1f", value))
        + " " + name;
  }

  /** The whole number in {@code text}; empty when it is none. */
  public static OptionalLong number(String text) {
    try {
      return OptionalLong.of(Long.parseLong(text.strip()));
    } catch (NumberFormatException e) {
      return OptionalLong.empty();
    }
  }
}
