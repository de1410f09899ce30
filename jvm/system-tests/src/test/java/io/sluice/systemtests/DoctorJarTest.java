package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.package$;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@code java -jar} with the packaged jar, on a node that has nothing else of Sluice. */
@Tag("once")
class DoctorJarTest {
  private static final String FOR_JAVA_17 = "META-INF/versions/17/";
  private static final String REST_PACKAGE = "org/apache/spark/status/api/v1/sluice/";

  record Answer(int exitCode, String output) {}

  @Test
  void doctorRunsFromTheJarAloneAndFindsThisMachineUsable() throws Exception {
    Answer answer = java("doctor", "--json");
    assertEquals(0, answer.exitCode(), answer.output());
    assertTrue(answer.output().contains("from the jar"), "the native library of the jar is loaded: " + answer.output());
    assertTrue(answer.output().contains("Spark " + package$.MODULE$.SPARK_VERSION()), answer.output());
    assertTrue(answer.output().endsWith("\"usable\": true\n}\n"), answer.output());
  }

  @Test
  void jarSaysItsVersionAndHowToUseIt() throws Exception {
    Answer answer = java();
    assertEquals(0, answer.exitCode());
    assertTrue(answer.output().matches("(?s)Sluice \\d+\\.\\d+.*--jars " + jar() + ".*"), answer.output());
  }

  /** Spark looks for REST resources in a package of its own; these are the only classes outside of io.sluice. */
  @Test
  void jarHasNoClassOfAnyoneElse() throws Exception {
    Set<String> rest = Stream.of("JakartaSluiceResource", "JakartaSluiceRoot", "JavaxSluiceResource", "JavaxSluiceRoot",
        "SluiceView", "SluiceView$1", "package-info").map(name -> REST_PACKAGE + name + ".class")
        .flatMap(name -> Stream.of(name, FOR_JAVA_17 + name)).collect(Collectors.toSet());
    try (JarFile jar = new JarFile(jar().toFile())) {
      Set<String> others = jar.stream().map(entry -> entry.getName()).filter(name -> name.endsWith(".class"))
          .filter(name -> !name.startsWith("io/sluice/") && !name.startsWith(FOR_JAVA_17 + "io/sluice/"))
          .collect(Collectors.toSet());
      assertEquals(rest, others);
    }
  }

  private static Path jar() throws URISyntaxException {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "another manager is tested");
    try {
      return Path.of(
          Class.forName(Engine.UNDER_TEST.managerClass()).getProtectionDomain().getCodeSource().getLocation().toURI());
    } catch (ClassNotFoundException e) {
      throw new AssertionError(e);
    }
  }

  /** What {@code java -jar} with the packaged jar and {@code arguments} says. */
  static Answer java(String... arguments) throws IOException, InterruptedException, URISyntaxException {
    List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-jar", jar().toString()));
    command.addAll(List.of(arguments));
    Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(1, TimeUnit.MINUTES), "java -jar does not end");
    return new Answer(process.exitValue(), output);
  }
}
