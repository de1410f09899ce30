package io.sluice.bench.run;

import java.nio.file.Path;

/**
 * A folder with {@code jars/} of one Spark line; enough to start drivers and {@code local-cluster} executors.
 *
 * @param path the folder, named {@code <Spark version>-<Scala version>}
 * @param sparkVersion for example {@code 4.2.0}
 * @param scalaVersion {@code 2.12} or {@code 2.13}
 */
public record SparkHome(Path path, String sparkVersion, String scalaVersion) {

  /** The home at {@code path}, whose versions are read from the folder's name. */
  public static SparkHome at(Path path) {
    String name = path.getFileName().toString();
    int dash = name.lastIndexOf('-');
    if (dash < 1) {
      throw new IllegalArgumentException(path + " is not named <Spark version>-<Scala version>");
    }
    return new SparkHome(path, name.substring(0, dash), name.substring(dash + 1));
  }

  /** Both versions, as {@code 3.5.8-2.12}. */
  public String line() {
    return sparkVersion + "-" + scalaVersion;
  }

  public Path jars() {
    return path.resolve("jars");
  }
}
