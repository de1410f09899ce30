package io.sluice.advisor.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.advisor.TestLog;
import io.sluice.advisor.model.Application;
import io.sluice.advisor.model.Exchange;
import io.sluice.advisor.model.Stage;
import io.sluice.advisor.model.TaskFigure;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Logs into applications: whole, cut, damaged, hostile, and files that are no logs. */
class EventLogReaderTest {
  @TempDir private Path folder;

  @ParameterizedTest
  @EnumSource(Compressed.class)
  void applicationIsWhatItsLogSays(Compressed codec) throws Exception {
    Application application = read(codec.of(TestLog.ofSort("my app").bytes()));
    assertEquals("my app", application.name());
    assertEquals("4.2.0", application.sparkVersion());
    assertEquals(70, application.durationS());
    assertEquals(2, application.cores());
    assertTrue(application.ended());
    assertEquals(List.of(0, 1), application.stages().stream().map(Stage::id).toList());
    Stage map = application.stages().get(0);
    assertEquals(8, map.totals().tasks());
    assertEquals(40, map.totals().runS());
    assertEquals(36, map.totals().cpuS());
    assertEquals(5_000_000, map.totals().sum(TaskFigure.WRITTEN_RECORDS));
    assertEquals(new Exchange(Exchange.Partitioning.HASH, 64), map.exchange());
    assertEquals(400_000_000, map.dataBytes());
    Stage reduce = application.stages().get(1);
    assertEquals(20, reduce.sortS());
    assertEquals(200_000_000, reduce.totals().readBytes());
    assertEquals(List.of(0), reduce.parents());
    assertTrue(reduce.inputs().get(0).isSql());
    assertEquals(TestLog.START_MS + 9_000, application.jobs().get(0).queryStartedMs());
    assertEquals(new LogHealth(86, 0, 0, ""), application.health());
  }

  @Test
  void cutLogIsReadAsFarAsItGoes() throws Exception {
    byte[] bytes = TestLog.ofSort("cut").bytes();
    Application application = read(Arrays.copyOf(bytes, bytes.length / 2));
    assertFalse(application.ended());
    assertEquals("it ends in the middle of an event", application.health().fault());
    assertTrue(application.stages().size() == 2 && application.durationS() > 0);
  }

  @Test
  void everyLengthOfALogIsReadWithoutAnException() throws Exception {
    byte[] bytes = TestLog.ofSort("cut").bytes();
    for (int length = 100; length < bytes.length; length += 97) {
      assertEquals("4.2.0", read(Arrays.copyOf(bytes, length)).sparkVersion());
    }
  }

  @Test
  void damagedBytesNeverThrow() throws Exception {
    byte[] bytes = TestLog.ofSort("damaged").bytes();
    Random random = new Random(7);
    for (int round = 0; round < 100; round++) {
      byte[] damaged = bytes.clone();
      for (int i = 0; i < 20; i++) {
        damaged[random.nextInt(damaged.length)] = (byte) random.nextInt();
      }
      Application application = read(damaged);
      assertTrue(application.health().events() > 60);
    }
  }

  @Test
  void filesThatAreNoLogsAreRefusedWithTheReason() throws Exception {
    assertRefused("the file is empty", new byte[0]);
    assertRefused("not one of its 2 lines is an event", "Hello.\nThis is a text.\n".getBytes());
    assertRefused("not one of its 1 lines is an event", "{\"id\": 1, \"jsonrpc\": \"2.0\"}\n".getBytes());
    assertRefused("not one of its 1 lines is an event", "{\"Event\":\"JobManagerStarted\"}\n".getBytes());
    assertRefused("not one of its 10000 lines so far", "x\n".repeat(50_000).getBytes());
    assertRefused("nothing of it can be read", new byte[] {0x28, (byte) 0xb5, 0x2f, (byte) 0xfd, 1, 2, 3});
  }

  @Test
  void lineWithTextThatIsTooLongIsSkippedAndCounted() throws Exception {
    String text = TestLog.ofSort("long").text();
    String line = "{\"Event\":\"SparkListenerApplicationStart\",\"App Name\":\"" + "x".repeat(11_000_000)
        + "\",\"Timestamp\":1}\n";
    Application application = read((line + text).getBytes());
    assertEquals("long", application.name());
    assertEquals(new LogHealth(86, 0, 1, ""), application.health());
  }

  @Test
  void longTextThatNobodyAsksForCostsNothing() throws Exception {
    String plan = "{\"Event\":\"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart\",\"executionId\":9,"
        + "\"physicalPlanDescription\":\"" + "x".repeat(11_000_000) + "\",\"time\":1}\n";
    assertEquals(new LogHealth(87, 0, 0, ""), read((plan + TestLog.ofSort("plan").text()).getBytes()).health());
  }

  @Test
  void plansAreReadToAnyDepthThatSparkHas() throws Exception {
    assertEquals(87, read((plan(500) + TestLog.ofSort("deep").text()).getBytes()).health().events());
    assertEquals(1, read((plan(100_000) + TestLog.ofSort("deeper").text()).getBytes()).health().longLines());
  }

  private static String plan(int depth) {
    return "{\"Event\":\"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart\",\"sparkPlanInfo\":"
        + "{\"nodeName\":\"n\",\"children\":[".repeat(depth) + "{}" + "]}".repeat(depth) + "}\n";
  }

  @Test
  void valuesOfOtherTypesCountAsNothing() throws Exception {
    TestLog log = new TestLog().head("4.2.0", "odd");
    log.add("{\"Event\":\"SparkListenerTaskEnd\",\"Stage ID\":\"x\",\"Task Metrics\":7}");
    log.add("{\"Event\":\"SparkListenerTaskEnd\",\"Stage ID\":1,\"Stage Attempt ID\":0,\"Task Info\":[1],"
        + "\"Task Metrics\":{\"Executor Run Time\":-5,\"Executor CPU Time\":1e300,\"JVM GC Time\":{\"a\":1}}}");
    log.add("{\"Event\":\"SparkListenerStageCompleted\",\"Stage Info\":{\"Stage ID\":99999999999999999999999,"
        + "\"RDD Info\":{\"a\":[]},\"Accumulables\":[7,null,[],{}]}}");
    log.add("{\"Event\":\"SparkListenerJobStart\",\"Job ID\":null,\"Properties\":null}");
    Application application = read(log.bytes());
    assertEquals(1, application.stages().size());
    assertEquals(0, application.stages().get(0).totals().runS());
    assertEquals(7, application.health().events());
  }

  @Test
  void hostileTextIsCleanInTheModel() throws Exception {
    Application application = read(new TestLog().set("spark.\u001b[2J", "\u202evalue")
        .head("4.\\u0007", "\u001b]0;x\u0007")
        .task(0, TestLog.START_MS, 1, 1, Map.of()).bytes());
    assertEquals("\uFFFD]0;x\uFFFD", application.name());
    assertEquals("4.\uFFFD", application.sparkVersion());
    assertEquals(Map.of("spark.\uFFFD[2J", "\uFFFDvalue"), application.settings());
  }

  @Test
  void logOfARunningApplicationEndsWithItsLastEvent() throws Exception {
    Application application = read(new TestLog().head("3.5.8", "running").executor("1", 4)
        .task(0, TestLog.START_MS + 1_000, 9_000, 1, Map.of()).bytes());
    assertFalse(application.ended());
    assertEquals(10, application.durationS());
  }

  private void assertRefused(String reason, byte[] bytes) {
    String message = assertThrows(UnreadableLogException.class, () -> read(bytes)).getMessage();
    assertTrue(message.contains(reason), message);
  }

  private Application read(byte[] bytes) throws Exception {
    Path file = Files.write(folder.resolve("log"), bytes);
    return EventLogReader.read(new EventLog(file, List.of(file), true), count -> {});
  }

  @Test
  void rollingLogIsOneApplication() throws Exception {
    List<String> lines = List.of(TestLog.ofSort("rolling").text().split("\n"));
    Path first = Files.write(folder.resolve("events_1_app"),
        Compressed.ZSTD.of((String.join("\n", lines.subList(0, 40)) + "\n").getBytes(StandardCharsets.UTF_8)));
    Path second = Files.write(folder.resolve("events_2_app"), lines.subList(40, lines.size()));
    Application application =
        EventLogReader.read(new EventLog(folder, List.of(first, second), true), count -> {});
    assertEquals(new LogHealth(lines.size(), 0, 0, ""), application.health());
    assertEquals(64, application.stages().get(1).totals().tasks());
  }
}
