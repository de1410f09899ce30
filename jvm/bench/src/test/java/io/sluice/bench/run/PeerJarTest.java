package io.sluice.bench.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.JarOutputStream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PeerJarTest {

  private static final SparkHome HOME = SparkHome.at(Path.of("3.5.8-2.12"));

  @TempDir private Path folder;

  @Test
  void aJarOfThisLineOrOfNoneThatItTellsPasses() throws IOException {
    PeerJar.check("comet", jar("comet-spark-spark3.5_2.12-0.12.0.jar", "a"), HOME);
    PeerJar.check("celeborn", jar("celeborn-client-spark-3-shaded_2.12-0.6.3.jar", "META-INF/maven/a/b/pom.xml"), HOME);
  }

  @Test
  void aJarOfAnotherLineIsRefusedWithBoth() throws IOException {
    Path jar = jar("comet-spark-spark4.1_2.13-1.2.0.jar", "a");
    assertEquals("--peer-jar comet=" + jar + " is for Spark 4.1 with Scala 2.13, and --spark is 3.5 with Scala 2.12: "
        + "take the jar for that, or give --spark", refused(jar));
    assertTrue(refused(jar("comet-spark-spark3.5_2.13-0.12.0.jar", "a")).contains("3.5 with Scala 2.13, and"));
  }

  @Test
  void aRenamedJarIsKnownByItsCoordinates() throws IOException {
    assertTrue(refused(jar("comet.jar", "META-INF/maven/org.apache.datafusion/comet-spark-spark4.1_2.13/pom.xml"))
        .contains("is for Spark 4.1 with Scala 2.13"));
  }

  @Test
  void aJarThatTellsSparksFirstNumberOrScalaAloneIsHeldToThat() throws IOException {
    PeerJar.check("uniffle", jar("rss-client-spark3-shaded-0.10.0.jar", "a"), HOME);
    PeerJar.check("rapids", jar("rapids-4-spark_2.12-25.10.0.jar", "a"), HOME);
    PeerJar.check("gluten", jar("gluten-velox-bundle-spark3.5_2.12-linux_amd64-1.6.0.jar", "a"), HOME);
    assertTrue(refused(jar("celeborn-client-spark-3-shaded_2.13-0.6.3.jar", "a")).contains(
        " is for Spark 3 with Scala 2.13, and --spark is 3.5 with Scala 2.12"));
    assertTrue(refused(jar("rss-client-spark2-shaded-0.10.0.jar", "a")).contains(" is for Spark 2, and"));
    assertTrue(refused(jar("rapids-4-spark_2.13-25.10.0.jar", "a")).contains(" is for Scala 2.13, and"));
  }

  @Test
  void whatIsNoJarIsRefused() throws IOException {
    assertTrue(refused(Files.writeString(folder.resolve("x.jar"), "text")).contains("x.jar: not a jar: "));
  }

  private static String refused(Path jar) {
    return assertThrows(IllegalArgumentException.class, () -> PeerJar.check("comet", jar, HOME)).getMessage();
  }

  private Path jar(String name, String entry) throws IOException {
    Path jar = folder.resolve(name);
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar))) {
      out.putNextEntry(new ZipEntry(entry));
    }
    return jar;
  }
}
