package io.sluice.nativebridge;

/** A negative result of the native core, as an exception. */
public final class NativeException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int reason;

  public NativeException(int reason, String message) {
    super(message);
    this.reason = reason;
  }

  /** One of the negative constants of {@link NativeCore}. */
  public int reason() {
    return reason;
  }

  /** Returns {@code result} if it is one, else throws it with the native core's message. */
  public static long check(long result) {
    if (result < 0) {
      throw new NativeException((int) result, NativeCore.lastErrorMessage());
    }
    return result;
  }
}
