package io.sluice.spark.fetch;

import java.io.IOException;

/** A block could not be read, or its bytes are corrupt; has the block, the offset in it and the cause. */
public final class BlockReadException extends IOException {
  private static final long serialVersionUID = 1L;

  private final transient ShuffleBlock block;
  private final long offset;
  private final String diagnosis;

  /**
   * @param offset of the frame concerned, in bytes from the block's start
   * @param diagnosis the cause according to the stored checksums; null if unknown
   */
  public BlockReadException(ShuffleBlock block, long offset, Throwable cause, String diagnosis) {
    super(cause.getMessage(), cause);
    this.block = block;
    this.offset = offset;
    this.diagnosis = diagnosis;
  }

  public ShuffleBlock block() {
    return block;
  }

  public long offset() {
    return offset;
  }

  public String diagnosis() {
    return diagnosis;
  }
}
