package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A key file that is cut keeps an application from starting, and the next application of the process runs. Spark reads
 * these files, and its error does not say which it is; {@code doctor} does.
 */
@Tag("once")
@Timeout(300)
class KeyFilesTest {
  @TempDir private Path folder;

  @ParameterizedTest
  @CsvSource({"true, 0", "true, 100", "false, 100"})
  void anApplicationWithACutKeyFileDoesNotStart(boolean keyStore, int bytes) throws Exception {
    assumeFalse(Tables.isSpark3(), "Spark 3 has no TLS between executors");
    RpcTls tls = RpcTls.in(folder);
    tls.cut(keyStore, bytes);
    SparkApplication.Builder application = SparkApplication.on(Engine.UNDER_TEST).setAll(tls.settings());
    RuntimeException failure = assertThrows(RuntimeException.class, application::start);
    assertTrue(failure.getMessage().contains("SSLFactory creation failed"), failure::toString);
    assertDoctorNames(keyStore ? "keyStore" : "trustStore", tls);
    RpcTls whole = RpcTls.in(Files.createDirectory(folder.resolve("whole")));
    try (SparkApplication next = SparkApplication.on(Engine.UNDER_TEST).setAll(whole.settings()).start()) {
      whole.assertServersSpeakIt(next);
      assertEquals(10, next.session().range(10).repartition(3).count());
    }
  }

  private static void assertDoctorNames(String store, RpcTls tls) throws Exception {
    List<String> arguments = new ArrayList<>(List.of("doctor"));
    tls.settings().forEach((key, value) -> arguments.addAll(List.of("--conf", key + "=" + value)));
    DoctorJarTest.Answer answer = DoctorJarTest.java(arguments.toArray(new String[0]));
    assertEquals(1, answer.exitCode(), answer.output());
    // Of both files; its lines are wrapped.
    List<String> findings = Arrays.stream(answer.output().split("\\n")).map(String::strip)
        .filter(line -> line.contains("key files ")).collect(Collectors.toList());
    assertEquals(2, findings.size(), answer.output());
    for (String finding : findings) {
      assertEquals(finding.contains("spark.ssl.rpc." + store), finding.startsWith("problem"), answer.output());
    }
  }
}
