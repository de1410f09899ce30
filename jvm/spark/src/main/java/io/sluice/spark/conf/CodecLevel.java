package io.sluice.spark.conf;

import io.sluice.nativebridge.NativeCore;

/** The values of {@code spark.sluice.codec.level}. */
public enum CodecLevel {
  PLAIN(NativeCore.LEVEL_PLAIN),
  FAST(NativeCore.LEVEL_FAST),
  SMALL(NativeCore.LEVEL_SMALL);

  private final int nativeLevel;

  CodecLevel(int nativeLevel) {
    this.nativeLevel = nativeLevel;
  }

  /** The constant of {@link NativeCore#writerOpen}. */
  public int nativeLevel() {
    return nativeLevel;
  }
}
