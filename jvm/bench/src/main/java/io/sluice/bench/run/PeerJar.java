package io.sluice.bench.run;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The Spark line that a jar of another project was built for, which its name or its Maven coordinates tell. */
public final class PeerJar {

  /**
   * As in {@code comet-spark-spark3.5_2.12-0.12.0.jar}, {@code celeborn-client-spark-3-shaded_2.12-0.6.3.jar},
   * {@code rss-client-spark3-shaded-0.10.0.jar} and {@code rapids-4-spark_2.12-25.10.0.jar}.
   */
  private static final Pattern LINE =
      Pattern.compile("spark(?:[-_]?(\\d(?:\\.\\d)?)(?![\\d.]))?(?:-shaded)?(?:_(2\\.1[123]))?");
  private static final String COORDINATES = "META-INF/maven/";

  private PeerJar() {}

  /** What a jar tells; either may be null, not both. The version of Spark may be its first number alone. */
  private record Line(String spark, String scala) {

    boolean fits(SparkHome home) {
      return (spark == null || (home.sparkVersion() + ".").startsWith(spark + "."))
          && (scala == null || scala.equals(home.scalaVersion()));
    }

    String describe() {
      return (spark == null ? "Scala " : "Spark " + spark + (scala == null ? "" : " with Scala "))
          + (scala == null ? "" : scala);
    }
  }

  /**
   * Checks that {@code jar} was built for the Spark and Scala of {@code home}; one that does not tell passes.
   *
   * @throws IllegalArgumentException naming both lines if it was built for another one, and if it is no jar
   */
  public static void check(String name, Path jar, SparkHome home) {
    line(name, jar).filter(line -> !line.fits(home)).ifPresent(line -> {
      throw new IllegalArgumentException("--peer-jar " + name + "=" + jar + " is for " + line.describe()
          + ", and --spark is " + describe(home) + ": take the jar for that, or give --spark");
    });
  }

  /** Whether {@link #check} would let it pass. */
  static boolean fits(String name, Path jar, SparkHome home) {
    return line(name, jar).map(line -> line.fits(home)).orElse(true);
  }

  private static String describe(SparkHome home) {
    String spark = home.sparkVersion();
    return spark.substring(0, spark.indexOf('.', spark.indexOf('.') + 1)) + " with Scala " + home.scalaVersion();
  }

  private static Optional<Line> line(String name, Path jar) {
    try (JarFile file = new JarFile(jar.toFile())) {
      Optional<Line> ofName = line(jar.getFileName().toString());
      return ofName.isPresent() ? ofName
          : file.stream().map(entry -> entry.getName()).filter(entry -> entry.startsWith(COORDINATES))
              .flatMap(entry -> line(entry).stream()).findFirst();
    } catch (IOException e) {
      throw new IllegalArgumentException("--peer-jar " + name + "=" + jar + ": not a jar: " + e.getMessage(), e);
    }
  }

  private static Optional<Line> line(String text) {
    Matcher matcher = LINE.matcher(text);
    while (matcher.find()) {
      if (matcher.group(1) != null || matcher.group(2) != null) {
        return Optional.of(new Line(matcher.group(1), matcher.group(2)));
      }
    }
    return Optional.empty();
  }
}
