package io.sluice.spark.fetch;

import java.util.function.Supplier;

/** Copies of this executor's map outputs that are faster to read than the disk. Not thread-safe: one per reader. */
@FunctionalInterface
public interface NearerCopies {
  /** There are none. */
  NearerCopies NONE = (block, bytes, diagnosis) -> null;

  /**
   * Reads the copy of a block to memory.
   *
   * @param bytes of the block, by the index
   * @param diagnosis of {@link BlockInput#diagnose}
   * @return null when the file is to be read, for whatever reason
   */
  BlockInput open(ShuffleBlock block, long bytes, Supplier<String> diagnosis);
}
