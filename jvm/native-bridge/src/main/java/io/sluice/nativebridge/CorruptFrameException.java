package io.sluice.nativebridge;

import java.io.IOException;

/** Bytes that should be a frame are not one: corrupt, truncated, or of another version. */
public class CorruptFrameException extends IOException {
  private static final long serialVersionUID = 1L;

  public CorruptFrameException(String message) {
    super(message);
  }
}
