package io.sluice.bench.workload;

import io.sluice.bench.tables.TableFiles;

/**
 * How large a workload is.
 *
 * @param rows rows (or records) of the generated table
 * @param maps partitions of the generated table, so map tasks of its first shuffle. Fixed rather than
 *     taken from the cluster's cores, because the table's random column depends on it
 * @param partitions shuffle partitions, or 0 for what the workload prescribes
 * @param tables what a query of a benchmark reads in place of a generated table; null for other workloads
 */
public record Sizing(long rows, int maps, int partitions, TableFiles tables) {

  /** Map tasks unless the user says otherwise: about 128 MB of the default table each. */
  public static final int DEFAULT_MAPS = 8;

  public Sizing {
    if (rows < 0 || maps < 1 || partitions < 0) {
      throw new IllegalArgumentException("maps must be positive, rows and partitions not negative: rows="
          + rows + ", maps=" + maps + ", partitions=" + partitions);
    }
  }

  /** The size of a workload that generates its input. */
  public Sizing(long rows, int maps, int partitions) {
    this(rows, maps, partitions, null);
  }

  /** The same for a workload that reads {@code those}. */
  public Sizing reading(TableFiles those) {
    return new Sizing(those.rows(), maps, partitions, those);
  }

  /** The partitions asked for, or {@code prescribed} when none were. */
  public int partitionsOr(int prescribed) {
    return partitions > 0 ? partitions : prescribed;
  }
}
