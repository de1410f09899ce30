package io.sluice.java8;

/** For {@link Math}. */
public final class JavaLangMath {
  private JavaLangMath() {}

  private static final long LOW = 0xFFFF_FFFFL;

  /** The upper 64 bits of the product, made of four products of halves. */
  public static long multiplyHigh(long x, long y) {
    long xHigh = x >> 32;
    long xLow = x & LOW;
    long yHigh = y >> 32;
    long yLow = y & LOW;
    long middle = xHigh * yLow + (xLow * yLow >>> 32);
    long carry = (middle & LOW) + xLow * yHigh;
    return xHigh * yHigh + (middle >> 32) + (carry >> 32);
  }
}
