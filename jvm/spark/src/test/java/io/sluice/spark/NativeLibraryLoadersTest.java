package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.NativeLibrary;
import java.net.URL;
import java.net.URLClassLoader;
import org.junit.jupiter.api.Test;

/** Spark may load the jar in more than one class loader of a process, and one file can be loaded by one only. */
class NativeLibraryLoadersTest {
  private static Object loadIn(ClassLoader loader) throws ReflectiveOperationException {
    Class<?> type = Class.forName(NativeLibrary.class.getName(), true, loader);
    assertNotSame(NativeLibrary.class, type);
    return type.getMethod("load", String.class).invoke(null, "");
  }

  @Test
  void everyClassLoaderGetsTheLibrary() throws Exception {
    NativeLibrary.Status here = NativeLibrary.load("");
    assertTrue(here.available(), here.detail());
    URL[] bridge = {NativeLibrary.class.getProtectionDomain().getCodeSource().getLocation()};
    for (int i = 0; i < 2; i++) {
      try (URLClassLoader loader = new URLClassLoader(bridge, ClassLoader.getPlatformClassLoader())) {
        String status = loadIn(loader).toString();
        assertTrue(status.startsWith("Status[available=true"), status);
      }
    }
  }
}
