package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** {@code java -jar} with {@code perftest}: two processes that have nothing but the jar. */
@Tag("once")
@Timeout(120)
class PerfTestJarTest {
  private static final Pattern PORT = Pattern.compile("listening at port (\\d+);");

  private record Answer(int exitCode, String output) {}

  @Test
  void oneProcessReadsTheOther() throws Exception {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "another manager is tested");
    String noUcx = OneSidedTransportTest.whyNoUcx();
    assumeTrue(noUcx == null, noUcx);
    Process listener = start("perftest", "--listen", "127.0.0.1:0");
    try {
      Answer over = reading(port(listener), "UCX_TLS", "tcp,self");
      assertEquals(0, over.exitCode, over.output);
      assertTrue(over.output.contains("every byte of 32 blocks of 1 MiB is right"), over.output);
      assertTrue(over.output.contains("verdict: one-sided reads work between these processes"), over.output);
    } finally {
      listener.destroyForcibly();
    }
  }

  @Test
  void nobodyAndSomebodyElseAreToldApart() throws Exception {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "another manager is tested");
    assumeTrue(OneSidedTransportTest.whyNoUcx() == null, "no UCX");
    try (ServerSocket other = new ServerSocket(0)) {
      Thread speaker = new Thread(() -> {
        try (Socket reader = other.accept()) {
          reader.getOutputStream().write("\0\5hello".getBytes(StandardCharsets.ISO_8859_1));
        } catch (IOException e) {
          // The reader is gone, as it should be.
        }
      });
      speaker.start();
      Answer wrong = reading(other.getLocalPort(), "X", "");
      assertEquals(1, wrong.exitCode, wrong.output);
      assertTrue(wrong.output.contains("verdict: one-sided reads do not work: what listens there is not perftest"),
          wrong.output);
      speaker.join();
    }
    Answer nobody = reading(1, "X", "");
    assertEquals(1, nobody.exitCode, nobody.output);
    assertTrue(nobody.output.contains("next: java -jar JAR doctor"), nobody.output);
  }

  private static Answer reading(int port, String variable, String value) throws IOException, InterruptedException {
    Process reader = start(builder -> builder.environment().put(variable, value), "perftest", "--connect",
        "127.0.0.1:" + port, "--seconds", "0.2");
    String output = new String(reader.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(reader.waitFor(1, TimeUnit.MINUTES), "perftest does not end");
    return new Answer(reader.exitValue(), output);
  }

  private static int port(Process listener) throws IOException {
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(listener.getInputStream(), StandardCharsets.UTF_8));
    StringBuilder all = new StringBuilder();
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      Matcher port = PORT.matcher(line);
      if (port.find()) {
        return Integer.parseInt(port.group(1));
      }
      all.append(line).append('\n');
    }
    throw new AssertionError("perftest does not listen: " + all);
  }

  private static Process start(String... arguments) throws IOException {
    return start(builder -> {}, arguments);
  }

  private static Process start(Consumer<ProcessBuilder> change, String... arguments)
      throws IOException {
    List<String> command = new ArrayList<>(
        List.of(JavaUnderTest.command(), "-jar", JarCopy.original().toString()));
    command.addAll(Arrays.asList(arguments));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    change.accept(builder);
    return builder.start();
  }
}
