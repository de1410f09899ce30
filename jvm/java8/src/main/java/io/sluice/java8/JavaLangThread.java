package io.sluice.java8;

/** For {@link Thread}. */
public final class JavaLangThread {
  private JavaLangThread() {}

  /** A hint to the processor, which Java 8 cannot give. */
  public static void onSpinWait() {}
}
