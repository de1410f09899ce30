package io.sluice.spark.write;

import java.io.File;
import java.io.IOException;

/**
 * A commit that writes the first partitions of a map output while the frames of later ones are still being made: of the
 * task's last batch, which is encoded by ranges of partitions. The bytes of the file are those of {@link Runs#commit}.
 * {@link #encodeUntil} may be called on a pool thread beside {@link #write}; the rest belongs to the task's thread.
 */
interface PartCommit {
  /**
   * As {@link Runs#encode}, for the rows of the partitions before {@code until}. The others must be encoded by later
   * calls with the same pages.
   */
  void encodeUntil(long sequence, int fields, long[] pages, int until);

  /** Creates the data file; {@link #end} or {@link #abort} must follow. */
  void begin(File file, int checksumAlgorithm) throws IOException;

  /** Writes the partitions before {@code until} that are not written yet; all their rows have been encoded. */
  void write(int until) throws IOException;

  /**
   * Ends it when all partitions are written; arguments and result are those of {@link Runs#commit}.
   *
   * @throws io.sluice.nativebridge.NativeException when rows are not written: that is a bug of the caller
   */
  long end(long[] lengths, long[] checksums);

  /** Removes the file. The runs stay, and {@link Runs#commit} may follow. */
  void abort();
}
