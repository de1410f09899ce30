package io.sluice.java8;

import java.lang.reflect.Field;
import java.util.stream.Stream;

/** For {@link Process}. */
public final class JavaLangProcess {
  private JavaLangProcess() {}

  /**
   * The method of later releases where there is one; else the value of a private field of its class for Unix.
   */
  public static long pid(Process process) {
    try {
      return (Long) Process.class.getMethod("pid").invoke(process);
    } catch (ReflectiveOperationException olderThanJava9) {
      return pidOfUnixProcess(process);
    }
  }

  private static long pidOfUnixProcess(Process process) {
    try {
      Field pid = process.getClass().getDeclaredField("pid");
      pid.setAccessible(true);
      return pid.getInt(process);
    } catch (ReflectiveOperationException e) {
      throw new UnsupportedOperationException("this Java does not say a process's number", e);
    }
  }

  /** None: Java 8 does not know them. */
  public static Stream<JavaLangProcessHandle> descendants(Process process) {
    return Stream.empty();
  }
}
