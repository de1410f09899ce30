package io.sluice.systemtests;

import java.nio.file.Path;

/** The Java that executors run on. */
final class JavaUnderTest {
  private JavaUnderTest() {}

  /** Its command. Another Java than Maven's is started by a script in its home. */
  static String command() {
    String home = System.getProperty("tests.java") == null ? System.getProperty("java.home")
        : System.getenv("JAVA_HOME");
    return Path.of(home, "bin", "java").toString();
  }
}
