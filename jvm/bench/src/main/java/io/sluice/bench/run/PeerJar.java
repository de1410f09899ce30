package io.sluice.bench.run;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The Spark line that a jar of another library was built for, which its name or its Maven coordinates tell. */
public final class PeerJar {

  /** As in {@code comet-spark-spark3.5_2.12-0.12.0.jar}. */
  private static final Pattern LINE = Pattern.compile("spark[-_]?(\\d\\.\\d)_(2\\.1[23])");
  private static final String COORDINATES = "META-INF/maven/";

  private PeerJar() {}

  /**
   * Checks that {@code jar} was built for the Spark and Scala of {@code home}; one that does not tell passes.
   *
   * @throws IllegalArgumentException naming both lines if it was built for another one, and if it is no jar
   */
  public static void check(String name, Path jar, SparkHome home) {
    line(name, jar).filter(line -> !line.equals(line(home))).ifPresent(line -> {
      throw new IllegalArgumentException("--peer-jar " + name + "=" + jar + " is for Spark " + line + ", and --spark "
          + "is " + line(home) + ": take the jar for that, or give --spark");
    });
  }

  private static String line(SparkHome home) {
    String spark = home.sparkVersion();
    return spark.substring(0, spark.indexOf('.', spark.indexOf('.') + 1)) + " with Scala " + home.scalaVersion();
  }

  private static Optional<String> line(String name, Path jar) {
    try (JarFile file = new JarFile(jar.toFile())) {
      Optional<String> ofName = line(jar.getFileName().toString());
      return ofName.isPresent() ? ofName
          : file.stream().map(entry -> entry.getName()).filter(entry -> entry.startsWith(COORDINATES))
              .flatMap(entry -> line(entry).stream()).findFirst();
    } catch (IOException e) {
      throw new IllegalArgumentException("--peer-jar " + name + "=" + jar + ": not a jar: " + e.getMessage(), e);
    }
  }

  private static Optional<String> line(String text) {
    Matcher matcher = LINE.matcher(text);
    return matcher.find() ? Optional.of(matcher.group(1) + " with Scala " + matcher.group(2)) : Optional.empty();
  }
}
