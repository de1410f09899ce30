package io.sluice.java8;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;

/** For {@code java.lang.ProcessHandle}, of this process only; an interface, as that is. */
public interface JavaLangProcessHandle {
  static JavaLangProcessHandle current() {
    return () -> {
      try {
        return Long.parseLong(new File("/proc/self").getCanonicalFile().getName());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    };
  }

  long pid();

  default boolean destroyForcibly() {
    throw new IllegalStateException("the current process is not destroyed");
  }
}
