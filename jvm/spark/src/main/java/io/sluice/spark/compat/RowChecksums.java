package io.sluice.spark.compat;

import org.apache.spark.ShuffleDependency;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.shuffle.checksum.RowBasedChecksum;
import org.apache.spark.storage.BlockManagerId;

/**
 * Spark's row-based checksums (4.1 and later; on by default for SQL from 4.2): one per partition, independent
 * of the order of rows. The scheduler compares them between attempts of a map task, to find out whether a
 * recomputed partition differs. Stock writers update them with every record, and so must whoever replaces them.
 *
 * <p>On earlier lines there are none and this class only says so; {@link Present} alone links to 4.1's classes.
 * One task's thread only.
 */
public abstract class RowChecksums {
  private RowChecksums() {}

  /** The checksums to keep for a map task of {@code dependency}; null when it has none. */
  public static RowChecksums of(ShuffleDependency<?, ?, ?> dependency) {
    return Lines.HAVE_ROW_CHECKSUMS ? Present.ofDependency(dependency) : null;
  }

  /** Whether {@link #of} works for {@code dependency} on this line. */
  public static boolean reachable(ShuffleDependency<?, ?, ?> dependency) {
    try {
      of(dependency);
      return true;
    } catch (LinkageError e) {
      return false;
    }
  }

  /** Adds a record that goes to {@code partition}. */
  public abstract void update(int partition, Object key, Object value);

  /** The map status that carries the checksum of all partitions. */
  public abstract MapStatus mapStatus(BlockManagerId location, long[] lengths, long mapId);

  /** What the Spark line at hand has. */
  private static final class Lines {
    static final boolean HAVE_ROW_CHECKSUMS = haveRowChecksums();

    private static boolean haveRowChecksums() {
      try {
        ShuffleDependency.class.getMethod("rowBasedChecksums");
        return true;
      } catch (NoSuchMethodException e) {
        return false;
      }
    }
  }

  private static final class Present extends RowChecksums {
    private final RowBasedChecksum[] partitions;

    private Present(RowBasedChecksum[] partitions) {
      this.partitions = partitions;
    }

    static RowChecksums ofDependency(ShuffleDependency<?, ?, ?> dependency) {
      RowBasedChecksum[] partitions = dependency.rowBasedChecksums();
      return partitions == null || partitions.length == 0 ? null : new Present(partitions);
    }

    @Override
    public void update(int partition, Object key, Object value) {
      partitions[partition].update(key, value);
    }

    @Override
    public MapStatus mapStatus(BlockManagerId location, long[] lengths, long mapId) {
      return MapStatus$.MODULE$.apply(location, lengths, mapId, RowBasedChecksum.getAggregatedChecksumValue(partitions));
    }
  }
}
