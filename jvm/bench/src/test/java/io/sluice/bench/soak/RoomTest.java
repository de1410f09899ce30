package io.sluice.bench.soak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** That faults in a room do what their names say, and that the machine outside has none of it. */
class RoomTest {

  /** Reads right after a fault, which may not know yet that it is over. */
  private static final int READS_AFTER = 5;

  @TempDir private Path folder;

  private final List<Process> processes = new ArrayList<>();

  @TempDir private static Path prepared;

  private static Optional<String> obstacle;

  @BeforeAll
  static void prepare() {
    obstacle = Room.obstacle(prepared);
  }

  @BeforeEach
  void roomsCanBeHad() {
    assumeTrue(obstacle.isEmpty(), obstacle.orElse(""));
  }

  @AfterEach
  void end() {
    processes.forEach(Process::destroyForcibly);
  }

  /** A process in a new room. */
  private Process start(String... program) throws IOException {
    List<String> command = new ArrayList<>(Room.command(prepared));
    command.addAll(List.of(program));
    Process process = new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true).start();
    processes.add(process);
    return process;
  }

  private static BufferedReader output(Process process) {
    return new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
  }

  private Fault.Target target(Process driver) {
    return target(driver, driver.toHandle());
  }

  private Fault.Target target(Process driver, ProcessHandle executor) {
    return new Fault.Target() {
      @Override
      public ProcessHandle driver() {
        return driver.toHandle();
      }

      @Override
      public List<ProcessHandle> executors() {
        return List.of(executor);
      }

      @Override
      public Path folder() {
        return Room.seenFromOutside(driver(), folder);
      }
    };
  }

  /** What the fault of the last thread says: whether there was anything that it was done to. */
  private volatile boolean harmed;

  private Thread injection(Fault fault, Process driver) {
    Thread thread = new Thread(() -> {
      try {
        harmed = fault.inject(target(driver), new Dice(1));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    });
    thread.start();
    return thread;
  }

  private boolean during(Fault fault, Process driver, Predicate<Fault.Target> seen) throws Exception {
    Thread injection = injection(fault, driver);
    boolean found = false;
    while (injection.isAlive()) {
      found |= seen.test(target(driver));
      Thread.sleep(5);
    }
    assertTrue(harmed);
    return found;
  }

  private Process sleeping() throws IOException {
    Process process = start("bash", "-c", "echo up; exec sleep 60");
    assertEquals("up", output(process).readLine());
    return process;
  }

  @ParameterizedTest
  @CsvSource({"DISK_FULL, true", "SHARED_MEMORY_FULL, false"})
  void spaceIsUsedUpAndGivenBack(Fault fault, boolean disk) throws Exception {
    Process driver = sleeping();
    Predicate<Fault.Target> full = target -> {
      try {
        return Files.getFileStore(disk ? Room.disk(target) : Room.sharedMemory(target)).getUsableSpace() == 0;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    };
    assertTrue(during(fault, driver, full));
    assertFalse(full.test(target(driver)));
  }

  @Test
  void foldersCannotBeEnteredForAMomentByRootEither() throws Exception {
    Process driver = start("bash", "-c", "mkdir local/blockmgr-1; echo x > local/blockmgr-1/f; echo up;"
        + " while sleep 0.01; do if cat local/blockmgr-1/f >&/dev/null; then echo yes; else echo no; fi; done");
    BufferedReader out = output(driver);
    assertEquals("up", out.readLine());
    assertEquals("yes", out.readLine());
    Thread injection = injection(Fault.FOLDERS_FORBIDDEN, driver);
    await(out, "no");
    injection.join();
    assertTrue(harmed);
    await(out, "yes");
  }

  @ParameterizedTest
  @CsvSource({"LINK_DOWN, ip -br link show lo, DOWN", "PACKETS_LOST, tc filter show dev lo ingress, direct-action",
    "LINK_SLOW, tc qdisc show dev lo, tbf"})
  void theLinkIsHarmedForAMoment(Fault fault, String command, String sign) throws Exception {
    Process driver = sleeping();
    assertTrue(during(fault, driver, target -> said(target, command).contains(sign)));
    assertFalse(said(target(driver), command).contains(sign));
    String outside = said(null, command);
    assertFalse(outside.contains(sign), outside);
  }

  private static String said(Fault.Target target, String command) {
    try {
      List<String> whole = new ArrayList<>(target == null ? List.of() : Room.entry(target));
      whole.addAll(List.of(command.split(" ")));
      Process process = new ProcessBuilder(whole).redirectErrorStream(true).start();
      return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Process java(Class<?> program) throws IOException {
    return start(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
        System.getProperty("java.class.path"), program.getName());
  }

  /** What a process says that reads a block file again and again, before, during and after the fault. */
  private List<RoomReads.Read> reads(Fault fault) throws Exception {
    Process driver = java(RoomReads.class);
    BufferedReader out = output(driver);
    List<RoomReads.Read> reads = new ArrayList<>(List.of(RoomReads.Read.parse(out.readLine())));
    Thread injection = injection(fault, driver);
    while (injection.isAlive()) {
      reads.add(RoomReads.Read.parse(out.readLine()));
    }
    assertTrue(harmed);
    // What stood still in the write of a line says so with the next one.
    for (int i = 0; i < READS_AFTER; i++) {
      reads.add(RoomReads.Read.parse(out.readLine()));
    }
    for (int i = 0; i < 1_000; i++) {
      out.readLine();
    }
    reads.add(RoomReads.Read.parse(out.readLine()));
    for (RoomReads.Read calm : List.of(reads.get(0), reads.get(reads.size() - 1))) {
      assertTrue(calm.good() && calm.mapped(), "before and after reads succeed");
      // Not by assertEquals with a delta, which compares floats: they tell minutes apart and no seconds.
      assertTrue(Math.abs(System.currentTimeMillis() - calm.clockMs()) < 60_000, "the clock is right again");
    }
    return reads;
  }

  @Test
  void readsFail() throws Exception {
    List<RoomReads.Read> reads = reads(Fault.READS_FAIL);
    assertTrue(reads.stream().anyMatch(read -> !read.good()));
  }

  @Test
  void theDiskIsSlow() throws Exception {
    List<RoomReads.Read> reads = reads(Fault.DISK_SLOW);
    assertTrue(reads.stream().allMatch(RoomReads.Read::good));
    // Each by 48 ms with these dice.
    long slow = reads.stream().filter(read -> read.tookUs() >= 40_000).count();
    assertTrue(slow >= 3, slow + " of " + reads.size());
  }

  @Test
  void filesCannotBeMapped() throws Exception {
    List<RoomReads.Read> reads = reads(Fault.MAPPINGS_REFUSED);
    assertTrue(reads.stream().allMatch(RoomReads.Read::good));
    assertTrue(reads.stream().anyMatch(read -> !read.mapped()));
  }

  @Test
  void aThreadOfSluiceStandsStill() throws Exception {
    List<RoomReads.Read> reads = reads(Fault.THREADS_STUCK);
    assertTrue(reads.stream().allMatch(RoomReads.Read::good));
    long between = 0;
    // The last one was made a thousand lines later.
    for (int i = 1; i < reads.size() - 1; i++) {
      between = Math.max(between, reads.get(i).sinceStartMs() - reads.get(i - 1).sinceStartMs());
    }
    assertTrue(between >= 400, "the longest pause was " + between + " ms");
  }

  @Test
  void theClockIsStepped() throws Exception {
    List<RoomReads.Read> reads = reads(Fault.CLOCK_STEPPED);
    long wrong = reads.stream().filter(read -> Math.abs(read.clockMs() - read.sinceStartMs()
        - (reads.get(0).clockMs() - reads.get(0).sinceStartMs())) > 900).count();
    assertTrue(wrong > 20, wrong + " of " + reads.size());
  }

  @Test
  void messagesAreSeenLate() throws Exception {
    Process driver = java(RoomEchoes.class);
    BufferedReader out = output(driver);
    // Of the first some are compiled.
    for (int i = 0; i < 100; i++) {
      out.readLine();
    }
    Thread injection = injection(Fault.MESSAGES_DELAYED, driver);
    List<Long> during = new ArrayList<>();
    while (injection.isAlive()) {
      during.add(Long.parseLong(out.readLine()));
    }
    assertTrue(harmed);
    for (int i = 0; i < READS_AFTER; i++) {
      during.add(Long.parseLong(out.readLine()));
    }
    // At least an eighth of what these dice say at a time, which is 182 ms; many before the fault are among them.
    assertTrue(during.stream().filter(ms -> ms >= 20).count() >= 2, during::toString);
    List<Long> after = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      after.add(Long.parseLong(out.readLine()));
    }
    assertTrue(after.stream().filter(ms -> ms < 20).count() > 50, after::toString);
  }

  @Test
  void theThreadThatReadsOneSidedlyEndsAloneAndForGood() throws Exception {
    Process driver = java(RoomAgent.class);
    BufferedReader out = output(driver);
    await(out, turns -> turns.agent() > 0 && turns.other() > 0);
    assertTrue(taskNames(driver).contains("sluice-ucx"), taskNames(driver).toString());
    assertTrue(Fault.AGENT_ENDED.inject(target(driver), new Dice(1)));
    // Until nothing is in the pipe that was said before it ended.
    RoomAgent.Turns last = await(out, turns -> !taskNames(driver).contains("sluice-ucx") && !out.ready());
    await(out, turns -> turns.other() > last.other() + 100);
    assertFalse(taskNames(driver).contains("sluice-ucx"), taskNames(driver).toString());
  }

  /** The first of the turns that the program says for which the condition holds. */
  private static RoomAgent.Turns await(BufferedReader out, TurnsCondition condition) throws IOException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    RoomAgent.Turns turns;
    do {
      assertTrue(System.nanoTime() < end, "the condition did not hold within 30 s");
      turns = RoomAgent.Turns.parse(out.readLine());
    } while (!condition.holds(turns));
    return turns;
  }

  private interface TurnsCondition {
    boolean holds(RoomAgent.Turns turns) throws IOException;
  }

  private static List<String> taskNames(Process process) throws IOException {
    List<String> names = new ArrayList<>();
    try (Stream<Path> tasks = Files.list(Path.of("/proc", Long.toString(process.pid()), "task"))) {
      for (Path task : tasks.toList()) {
        names.add(Files.readString(task.resolve("comm")).strip());
      }
    }
    return names;
  }

  @Test
  void theExecutorInPlaceOfAKilledOneFindsNoLibrary() throws Exception {
    Path library = Files.copy(prepared.resolve("calls.so"), folder.resolve("libsluice_jni.so"));
    Process driver = start("bash", "-c", "while true; do \"$1\" -cp \"$2\" " + RoomLibrary.class.getName()
        + " \"$3\" & echo $!; wait $!; done", "bash",
        Path.of(System.getProperty("java.home"), "bin", "java").toString(), System.getProperty("java.class.path"),
        library.toString());
    BufferedReader out = output(driver);
    ProcessHandle executor = ProcessHandle.of(Long.parseLong(out.readLine())).orElseThrow();
    await(out, "loaded");
    assertTrue(Fault.LIBRARY_GONE.inject(target(driver, executor), new Dice(1)));
    ProcessHandle replaced = replacement(out);
    String failure = out.readLine();
    assertTrue(failure.startsWith("not loaded: ") && failure.contains("taken away by the soak"), failure);
    // When the fault is over the next one has it again.
    replaced.destroyForcibly();
    replacement(out);
    await(out, "loaded");
  }

  /** The process whose id comes next, behind what the shell says of the one that was killed. */
  private static ProcessHandle replacement(BufferedReader out) throws IOException {
    for (String line = out.readLine(); line != null; line = out.readLine()) {
      if (line.matches("\\d+")) {
        return ProcessHandle.of(Long.parseLong(line)).orElseThrow();
      }
    }
    throw new AssertionError("no process came in place of the killed one");
  }

  @Test
  void whereNothingReadsOrMapsNothingIsHarmed() throws Exception {
    Process driver = sleeping();
    for (Fault fault : List.of(Fault.READS_FAIL, Fault.MAPPINGS_REFUSED, Fault.AGENT_ENDED,
        Fault.CONNECTIONS_CUT)) {
      assertFalse(fault.inject(target(driver), new Dice(1)), fault.label());
    }
  }

  @Test
  void connectionsAreCut() throws Exception {
    Process driver = java(RoomTalk.class);
    BufferedReader out = output(driver);
    await(out, "connected");
    assertTrue(Fault.CONNECTIONS_CUT.inject(target(driver), new Dice(1)));
    String end = out.readLine();
    assertTrue(end.startsWith("cut: "), end);
  }

  @Test
  void aStrangerListensOnThePortsOfAKilledExecutor() throws Exception {
    Process driver = start("bash", "-c", "\"$1\" -cp \"$2\" " + RoomTalk.class.getName() + " & echo $!; exec sleep 60",
        "bash", Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        System.getProperty("java.class.path"));
    BufferedReader out = output(driver);
    ProcessHandle executor = ProcessHandle.of(Long.parseLong(out.readLine())).orElseThrow();
    await(out, "connected");
    String before = said(target(driver), "ss -Htln").strip();
    assertEquals(1, before.lines().count(), before);
    String port = before.replaceAll("(?s).*?:(\\d+) .*", "$1");
    Thread injection = new Thread(() -> {
      try {
        harmed = Fault.PEER_REPLACED.inject(target(driver, executor), new Dice(1));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    });
    injection.start();
    boolean replaced = false;
    while (injection.isAlive()) {
      String listening = said(target(driver), "ss -Htlnp");
      replaced |= listening.contains(":" + port + " ") && !listening.contains("pid=" + executor.pid() + ",");
      Thread.sleep(20);
    }
    assertTrue(harmed && replaced, "port " + port);
    assertFalse(said(target(driver), "ss -Htln").contains(":" + port + " "));
  }

  @Test
  void strangersConnectAndLeave() throws Exception {
    Process driver = java(RoomTalk.class);
    BufferedReader out = output(driver);
    await(out, "connected");
    assertTrue(Fault.STRANGERS_CONNECT.inject(target(driver), new Dice(1)));
    assertEquals(List.of("a stranger", "a stranger", "a stranger"),
        List.of(out.readLine(), out.readLine(), out.readLine()));
    assertTrue(driver.isAlive());
  }

  private static void await(BufferedReader out, String line) throws IOException {
    for (String next = out.readLine(); !line.equals(next); next = out.readLine()) {
      assertTrue(next != null, "the process ended before it said " + line);
    }
  }
}
