package io.sluice.nativebridge;

/**
 * Bytes are a whole sealed frame, but not one that the map task sealed for where it lies: a forged or moved frame, or
 * frames that are missing. Damage, which checksums find, is a plain {@link CorruptFrameException}.
 */
public final class FrameNotAuthenticException extends CorruptFrameException {
  private static final long serialVersionUID = 1L;

  public FrameNotAuthenticException(String message) {
    super(message);
  }
}
