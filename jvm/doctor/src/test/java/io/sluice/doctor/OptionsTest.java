package io.sluice.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.doctor.mode.Mode;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The command line, up to its exit codes. */
class OptionsTest {
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();

  @Test
  void everyOptionIsRead() {
    Options options = Options.parse(List.of("--json", "--mode", "rdma,MULTITHREADED", "--ucx-library=/opt/ucx",
        "--spark-home", "/opt/spark", "--local-dirs", "/a, /b", "--conf", "spark.sluice.mode=UCX",
        "--conf=spark.executor.extraJavaOptions=-Da=b"));
    assertEquals(new Options(true, false, List.of(Mode.RDMA, Mode.MULTITHREADED), "/opt/ucx", "/opt/spark",
        List.of("/a", "/b"),
        Map.of("spark.sluice.mode", "UCX", "spark.executor.extraJavaOptions", "-Da=b")), options);
    assertEquals(List.of(Mode.MULTITHREADED), Options.parse(List.of()).modes());
  }

  @Test
  void wrongArgumentsSayWhichAndExitWithTwo() {
    assertEquals(2, run("doctor", "--mode", "FAST"));
    assertTrue(err().contains("'FAST' is no mode; there are MULTITHREADED, UCX, RDMA, CACHE_ONLY"), err());
    assertEquals(2, run("doctor", "--mode"));
    assertEquals(2, run("doctor", "--colour"));
    assertTrue(err().contains("unknown argument --colour"), err());
    assertEquals(2, run("doctor", "--conf", "spark.sluice.mode"));
    assertTrue(err().contains("--conf spark.sluice.mode is no setting of Spark: KEY=VALUE is wanted"), err());
    assertEquals(2, run("doctor", "--conf", "mode=UCX"));
    assertEquals(2, run("heal"));
    assertEquals("", out.toString(StandardCharsets.UTF_8));
  }

  @Test
  void jarWithoutCommandSaysHowToUseIt() {
    assertEquals(0, run());
    String text = out.toString(StandardCharsets.UTF_8);
    assertTrue(text.contains("spark.shuffle.manager=io.sluice.spark.SluiceShuffleManager") && text.contains("doctor"),
        text);
  }

  @Test
  void helpFitsTheColumns() {
    assertEquals(0, run("doctor", "--help"));
    out.toString(StandardCharsets.UTF_8).lines().forEach(line -> assertTrue(line.length() <= 100, line));
  }

  private int run(String... arguments) {
    return Main.run(List.of(arguments), new PrintStream(out, true, StandardCharsets.UTF_8),
        new PrintStream(err, true, StandardCharsets.UTF_8), false);
  }

  private String err() {
    return err.toString(StandardCharsets.UTF_8);
  }
}
