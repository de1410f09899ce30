package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.apache.logging.log4j.Level;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * A native library that is truncated, or is for another processor: one warning says so; the shuffles still use Sluice,
 * in Java, and the rows are those of stock.
 */
@Tag("once")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class UnusableLibraryTest {
  private static final long ROWS = 20_000;
  /** Where an ELF file says for which machine it is, and what it says (its second byte is 0). */
  private static final int ELF_MACHINE = 18;
  private static final int ELF_X86_64 = 62;
  private static final int ELF_AARCH64 = 183;

  @TempDir Path folder;

  private Fingerprint stock;

  @BeforeAll
  void start() {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "Spark's own shuffle has no library");
    try (SparkApplication application = SparkApplication.on(Engine.STOCK).start()) {
      stock = run(application);
    }
  }

  @Test
  void aLibraryCutInHalfIsReplacedByJava() throws IOException {
    byte[] whole = library(System.getProperty("os.arch").replace("amd64", "x86_64"));
    assertWorksInJava(Arrays.copyOf(whole, whole.length / 2),
        "it is cut or damaged: it has " + whole.length / 2 + " bytes");
  }

  @Test
  void anEmptyLibraryIsReplacedByJava() throws IOException {
    assertWorksInJava(new byte[0], "it has 0 bytes");
  }

  /** The jar may have no library for another machine, so it is this machine's with another machine's mark. */
  @Test
  void aLibraryOfAnotherArchitectureIsReplacedByJava() throws IOException {
    boolean here = System.getProperty("os.arch").equals("aarch64");
    byte[] library = library(here ? "aarch64" : "x86_64");
    library[ELF_MACHINE] = (byte) (here ? ELF_X86_64 : ELF_AARCH64);
    assertWorksInJava(library, "it is for another machine");
  }

  private void assertWorksInJava(byte[] library, String reason) throws IOException {
    Path file = Files.write(Files.createTempFile(folder, "library", ".so"), library);
    try (LogCapture log = LogCapture.open();
        SparkApplication application =
            SparkApplication.on(Engine.UNDER_TEST).set("spark.sluice.native.library", file.toString()).start()) {
      assertEquals(stock, run(application));
      if (Engine.writesFrames()) {
        assertEquals(1, ProcessCounters.here(Counter.SHUFFLES_ROWS));
        assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
        assertEquals(1, ProcessCounters.here(Counter.EXECUTORS_WITHOUT_NATIVE_LIBRARY));
      }
      List<?> warnings = log.messages(Level.WARN, reason);
      assertTrue(!warnings.isEmpty() && warnings.toString().contains(file.toString()),
          () -> "logged: " + log.messages(Level.WARN, ""));
    }
  }

  private static Fingerprint run(SparkApplication application) {
    return Fingerprint.of(Tables.events(application.session(), ROWS, 2).repartition(4)).unordered();
  }

  /** The library's bytes in the jar; empty if the jar has none. */
  private static byte[] library(String machine) throws IOException {
    try (InputStream in =
        UnusableLibraryTest.class.getResourceAsStream("/io/sluice/native/linux-" + machine + "/libsluice_jni.so")) {
      return in == null ? new byte[0] : in.readAllBytes();
    }
  }
}
