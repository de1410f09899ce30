package io.sluice.spark.compat;

import org.apache.spark.ShuffleDependency;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.checksum.RowBasedChecksum;
import org.apache.spark.storage.BlockManagerId;

import org.apache.spark.scheduler.MapStatus$;

/**
 * Which shuffles have Spark's row-based checksums (Spark 4.1 and later; on by default for SQL from 4.2), and the
 * map status that carries their value. The scheduler compares the values of a map task's attempts, to find out
 * whether a recomputed output differs.
 *
 * <p>On earlier lines no shuffle has them, and the methods here answer accordingly; only {@link Present} links to
 * classes of Spark 4.1. Any thread.
 */
public final class RowBasedChecksums {
  private static final String OF_UNSAFE_ROWS = "org.apache.spark.sql.catalyst.expressions.UnsafeRowChecksum";
  private static final boolean ON_THIS_LINE = onThisLine();

  private RowBasedChecksums() {}

  private static boolean onThisLine() {
    try {
      ShuffleDependency.class.getMethod("rowBasedChecksums");
      return true;
    } catch (NoSuchMethodException e) {
      return false;
    }
  }

  /** Whether map tasks of {@code dependency} must report a checksum of their rows. */
  public static boolean wanted(ShuffleDependency<?, ?, ?> dependency) {
    return ON_THIS_LINE && Present.count(dependency) > 0;
  }

  /** Whether Sluice knows how the wanted checksums are computed; true when none are wanted. */
  public static boolean known(ShuffleDependency<?, ?, ?> dependency) {
    return !wanted(dependency) || Present.areOfUnsafeRows(dependency);
  }

  /** The map status with the checksum of all partitions; only where {@link #wanted}. */
  public static MapStatus mapStatus(BlockManagerId location, long[] lengths, long mapId, long checksum) {
    return Present.mapStatus(location, lengths, mapId, checksum);
  }

  private static final class Present {
    static int count(ShuffleDependency<?, ?, ?> dependency) {
      RowBasedChecksum[] checksums = dependency.rowBasedChecksums();
      return checksums == null ? 0 : checksums.length;
    }

    static boolean areOfUnsafeRows(ShuffleDependency<?, ?, ?> dependency) {
      return dependency.rowBasedChecksums()[0].getClass().getName().equals(OF_UNSAFE_ROWS);
    }

    static MapStatus mapStatus(BlockManagerId location, long[] lengths, long mapId, long checksum) {
      return MapStatus$.MODULE$.apply(location, lengths, mapId, checksum);
    }
  }
}
