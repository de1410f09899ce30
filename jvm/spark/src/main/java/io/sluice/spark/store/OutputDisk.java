package io.sluice.spark.store;

import java.io.File;
import java.io.IOException;
import java.util.function.LongSupplier;

/** The disk to which an {@link OutputCache} moves outputs. */
interface OutputDisk {
  /** Copies an output to a file that does not exist yet. */
  interface Copy {
    /** Returns the bytes written. */
    long to(File file);
  }

  /** The path at which Spark expects the output. */
  File dataFile(int shuffleId, long mapId);

  /**
   * Has {@code copy} write a new file, in another directory if one is full.
   *
   * @return that file
   * @throws IOException when no directory can take it; the message names each with its error
   */
  File write(Copy copy) throws IOException;

  /** Has {@code copy} bring an output back from the disk, and returns how many bytes; tests look on. */
  default long read(LongSupplier copy) {
    return copy.getAsLong();
  }
}
