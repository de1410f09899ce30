package io.sluice.bench.run;

import java.util.ArrayList;
import java.util.List;

/**
 * What Spark's launcher opens on Java 17 and later, and allows on Java 24 and later (its class JavaModuleOptions). Only
 * drivers need it: Spark itself adds the options to executors.
 */
final class JavaModules {

  private static final List<String> OPENED = List.of("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io",
      "java.net", "java.nio", "java.util", "java.util.concurrent", "java.util.concurrent.atomic", "sun.nio.ch",
      "sun.nio.cs", "sun.security.action", "sun.util.calendar");

  private JavaModules() {}

  static List<String> options() {
    List<String> options = new ArrayList<>();
    OPENED.forEach(name -> options.add("--add-opens=java.base/" + name + "=ALL-UNNAMED"));
    options.add("-Djdk.reflect.useDirectMethodHandle=false");
    options.add("-Dio.netty.tryReflectionSetAccessible=true");
    // Java before 24 does not know the next one.
    options.add("-XX:+IgnoreUnrecognizedVMOptions");
    options.add("--sun-misc-unsafe-memory-access=allow");
    return options;
  }
}
