package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import org.apache.spark.SparkContext;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A key file that is cut keeps an application from starting, with an error that leads to the file, and the next
 * application of the process runs. Spark reads these files; {@code doctor} looks at them before.
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
    Throwable failure = assertThrows(Throwable.class, application::start);
    StringWriter trace = new StringWriter();
    failure.printStackTrace(new PrintWriter(trace));
    assertTrue(trace.toString().contains("EXPECTED"), trace::toString);
    assertTrue(SparkContext.getActive().isEmpty());
    RpcTls whole = RpcTls.in(folder.resolve("whole"));
    try (SparkApplication next = SparkApplication.on(Engine.UNDER_TEST).setAll(whole.settings()).start()) {
      whole.assertServersSpeakIt(next);
      assertEquals(10, next.session().range(10).repartition(3).count());
    }
  }
}
