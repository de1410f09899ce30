package io.sluice.bench.soak;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.util.LongAccumulator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import scala.Tuple2;

/** That faults without a room do what their names say, to what they are meant for only. */
class FaultTest {

  private static final String UNCOMMITTED = "shuffle_1_2_0.data.01234567-89ab-cdef-0123-456789abcdef";

  /** Tasks that sleep, or have slept; they run in this process. */
  private static final AtomicInteger BEGUN = new AtomicInteger();

  @TempDir private Path folder;

  private ProcessHandle driver = ProcessHandle.current();

  private Fault.Target target(ProcessHandle... executors) {
    return new Fault.Target() {
      @Override
      public ProcessHandle driver() {
        return driver;
      }

      @Override
      public List<ProcessHandle> executors() {
        return List.of(executors).stream().filter(ProcessHandle::isAlive).toList();
      }

      @Override
      public Path folder() {
        return folder;
      }
    };
  }

  private Path file(String name, String content) throws Exception {
    Path file = Files.createDirectories(folder.resolve("blockmgr-1/0a")).resolve(name);
    return Files.writeString(file, content, StandardCharsets.ISO_8859_1);
  }

  private static Process sleeping(String before) throws Exception {
    Process process = new ProcessBuilder("bash", "-c", before + "; echo; exec sleep 60").start();
    process.getInputStream().read();
    return process;
  }

  /** Whether {@code seen} was true at a moment while {@code fault} was done. */
  private boolean during(Fault fault, ProcessHandle executor, BooleanSupplier seen) throws Exception {
    AtomicBoolean harmed = new AtomicBoolean();
    Thread injection = new Thread(() -> {
      try {
        harmed.set(fault.inject(target(executor), new Dice(1)));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    });
    injection.start();
    boolean found = false;
    while (injection.isAlive()) {
      found |= seen.getAsBoolean();
      Thread.sleep(5);
    }
    assertTrue(harmed.get());
    return found;
  }

  @ParameterizedTest
  @EnumSource(value = Fault.class, names = {"OUTPUT_FLIPPED", "SPILL_FLIPPED"})
  void bitsAreInvertedInFramesOnly(Fault fault) throws Exception {
    String frames = "SLF1" + "x".repeat(1_000);
    List<Path> others = new ArrayList<>();
    for (String name : List.of("temp_local_1", "rdd_1_2", "broadcast_1_piece0", "shuffle_1_2_0.index")) {
      others.add(file(name, frames));
    }
    others.add(file("shuffle_9_2_0.data", "LZ4Block" + frames));
    others.add(file("temp_shuffle_2", "LZ4Block" + frames));
    others.add(file("shuffle_9_3_0.data", ""));
    List<byte[]> before = new ArrayList<>();
    for (Path other : others) {
      before.add(Files.readAllBytes(other));
    }
    Dice dice = new Dice(1);
    int[] changed = new int[2];
    for (int round = 0; round < 40; round++) {
      Path output = file("shuffle_1_2_0.data", frames);
      Path spill = file("temp_shuffle_1", "SLF2" + frames);
      byte[] outputBytes = Files.readAllBytes(output);
      byte[] spillBytes = Files.readAllBytes(spill);
      assertTrue(fault.inject(target(), dice));
      changed[0] += Arrays.equals(outputBytes, Files.readAllBytes(output)) ? 0 : 1;
      changed[1] += Arrays.equals(spillBytes, Files.readAllBytes(spill)) ? 0 : 1;
    }
    assertArrayEquals(fault == Fault.OUTPUT_FLIPPED ? new int[] {40, 0} : new int[] {0, 40}, changed);
    for (int i = 0; i < others.size(); i++) {
      assertArrayEquals(before.get(i), Files.readAllBytes(others.get(i)), others.get(i).toString());
    }
  }

  @ParameterizedTest
  @EnumSource(value = Fault.class, names = {"CHECKSUMS_FLIPPED", "INDEX_FLIPPED", "OUTPUT_CUT", "INDEX_CUT"})
  void otherFilesOfAShuffleAreDamagedAlone(Fault fault) throws Exception {
    List<String> names = List.of("shuffle_1_2_0.checksum.ADLER32", "shuffle_1_2_0.data", "shuffle_1_2_0.index",
        "temp_shuffle_1", "rdd_1_2");
    int damaged = switch (fault) {
      case CHECKSUMS_FLIPPED -> 0;
      case OUTPUT_CUT -> 1;
      default -> 2;
    };
    List<Path> files = new ArrayList<>();
    for (String name : names) {
      files.add(file(name, "x".repeat(100)));
    }
    assertTrue(fault.inject(target(), new Dice(1)));
    for (int i = 0; i < names.size(); i++) {
      String now = Files.readString(files.get(i), StandardCharsets.ISO_8859_1);
      assertEquals(i == damaged, !now.equals("x".repeat(100)), names.get(i) + ": " + now);
      assertEquals(i == damaged && fault.name().endsWith("_CUT"), now.length() < 100, names.get(i));
    }
  }

  @ParameterizedTest
  @EnumSource(value = Fault.class, names = {"EXECUTOR_KILLED", "EXECUTORS_KILLED", "EXECUTOR_STOPPED", "HEAP_DUMPED",
    "GARBAGE_COLLECTED", "OUTPUT_FLIPPED", "SPILL_FLIPPED", "CHECKSUMS_FLIPPED", "INDEX_FLIPPED", "OUTPUT_CUT",
    "INDEX_CUT", "FILE_DELETED", "FILES_DELETED", "DESCRIPTORS_EXHAUSTED", "FILES_LIMITED", "MEMORY_REFUSED",
    "PINNING_LIMITED"})
  void whereThereIsNothingToHarmItSaysSo(Fault fault) throws Exception {
    file("rdd_1_2", "x");
    assertFalse(fault.inject(target(), new Dice(1)));
  }

  @Test
  void filesAreDeleted() throws Exception {
    Path other = file("rdd_1_2", "x");
    file("shuffle_1_2_0.data", "x");
    file("shuffle_1_2_0.index", "x");
    assertTrue(Fault.FILE_DELETED.inject(target(), new Dice(1)));
    try (var left = Files.list(other.getParent())) {
      assertEquals(2, left.count());
    }
    assertTrue(Fault.FILES_DELETED.inject(target(), new Dice(1)));
    try (var left = Files.list(other.getParent())) {
      assertEquals(List.of(other), left.toList());
    }
    assertTrue(Fault.FOLDERS_DELETED.inject(target(), new Dice(1)));
    assertFalse(Files.exists(folder.resolve("blockmgr-1")));
    assertTrue(Files.exists(folder));
  }

  @Test
  void theExecutorThatWritesAMapOutputIsKilled() throws Exception {
    Path output = file(UNCOMMITTED, "x");
    Process idle = sleeping("true");
    Process writing = sleeping("exec 7>>" + output);
    try {
      assertTrue(Fault.KILLED_IN_COMMIT.inject(target(idle.toHandle(), writing.toHandle()), new Dice(1)));
      assertTrue(writing.waitFor(10, TimeUnit.SECONDS));
      assertTrue(idle.isAlive());
    } finally {
      idle.destroyForcibly();
      writing.destroyForcibly();
    }
  }

  @Test
  void anExecutorIsKilledWhenAnOutputWasCommitted() throws Exception {
    AtomicInteger commits = new AtomicInteger(1);
    file("shuffle_1_1_0.index", "x");
    Process executor = sleeping("true");
    try {
      boolean aliveBefore = during(Fault.KILLED_AFTER_COMMIT, executor.toHandle(), () -> {
        boolean alive = executor.isAlive();
        try {
          Thread.sleep(100);
          // Those that are there when the fault begins to look do not count.
          file("shuffle_1_" + commits.incrementAndGet() + "_0.index", "x");
        } catch (Exception e) {
          throw new AssertionError(e);
        }
        return alive;
      });
      assertTrue(aliveBefore);
      assertTrue(executor.waitFor(10, TimeUnit.SECONDS));
    } finally {
      executor.destroyForcibly();
    }
  }

  @Test
  void executorsAreKilled() throws Exception {
    Process first = sleeping("true");
    Process second = sleeping("true");
    assertTrue(Fault.EXECUTOR_KILLED.inject(target(first.toHandle(), second.toHandle()), new Dice(1)));
    CompletableFuture.anyOf(first.onExit(), second.onExit()).get(10, TimeUnit.SECONDS);
    assertNotEquals(first.isAlive(), second.isAlive());
    assertTrue(Fault.EXECUTORS_KILLED.inject(target(first.toHandle(), second.toHandle()), new Dice(1)));
    assertTrue(first.waitFor(10, TimeUnit.SECONDS) && second.waitFor(10, TimeUnit.SECONDS));
  }

  @ParameterizedTest
  @EnumSource(value = Fault.class, names = {"EXECUTOR_STOPPED", "EXECUTORS_STOPPED", "DRIVER_STOPPED"})
  void aStoppedProcessGoesOn(Fault fault) throws Exception {
    Process executor = sleeping("true");
    driver = executor.toHandle();
    try {
      assertTrue(during(fault, executor.toHandle(), () -> state(executor).equals("T")), "it stopped");
      assertNotEquals("T", state(executor));
    } finally {
      executor.destroyForcibly();
    }
  }

  private static String state(Process process) {
    try {
      String stat = Files.readString(Path.of("/proc", Long.toString(process.pid()), "stat"));
      return stat.substring(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3);
    } catch (IOException e) {
      return "gone";
    }
  }

  @Test
  void theHeapIsWrittenAndTheFileIsGoneAfterwards() throws Exception {
    Path dump = folder.resolve("heap.hprof");
    assertTrue(during(Fault.HEAP_DUMPED, ProcessHandle.current(), () -> Files.exists(dump)));
    assertFalse(Files.exists(dump));
  }

  private static JavaSparkContext local() {
    return new JavaSparkContext("local[2]", "cancelled", new SparkConf().set("spark.ui.enabled", "false"));
  }

  /** A task that would take a minute, but for its second attempt. */
  private static JavaRDD<Integer> aMinute(JavaSparkContext context) {
    return context.parallelize(List.of(60_000), 1).map(ms -> {
      BEGUN.incrementAndGet();
      Thread.sleep(TaskContext.get().attemptNumber() == 0 ? ms : 1);
      return ms;
    });
  }

  private static JavaFutureAction<Long> begun(JavaSparkContext context) throws InterruptedException {
    int before = BEGUN.get();
    JavaFutureAction<Long> job = aMinute(context).countAsync();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (BEGUN.get() == before) {
      assertTrue(System.nanoTime() < end, "the task has not begun in a minute");
      Thread.sleep(5);
    }
    return job;
  }

  @ParameterizedTest
  @EnumSource(value = Fault.class, names = {"JOBS_CANCELLED", "STAGES_CANCELLED"})
  void jobsAreCancelledByTheDriverWhereItLooks(Fault fault) throws Exception {
    try (JavaSparkContext context = local()) {
      context.setLocalProperty("spark.job.interruptOnCancel", "true");
      JavaFutureAction<Long> job = begun(context);
      while (context.statusTracker().getActiveStageIds().length == 0) {
        Thread.sleep(5);
      }
      try (JobWishes.Obeying obeying = JobWishes.obey(context.sc(), folder, () -> {})) {
        assertTrue(fault.inject(target(), new Dice(1)));
        Exception failure = assertThrows(ExecutionException.class, () -> job.get(30, TimeUnit.SECONDS));
        assertTrue(failure.getCause().toString().contains("cancel"), failure.getCause().toString());
      }
      try (Stream<Path> left = Files.list(folder)) {
        assertEquals(0, left.count());
      }
      assertEquals(2, context.parallelize(List.of(1, 2)).count());
    }
  }

  @Test
  void theSecondJobIsCancelledWithTheFirst() throws Exception {
    try (JavaSparkContext context = local()) {
      context.setLocalProperty("spark.job.interruptOnCancel", "true");
      JavaFutureAction<Long> job = begun(context);
      AtomicReference<Throwable> ofSecond = new AtomicReference<>();
      Runnable again = () -> {
        try {
          aMinute(context).count();
        } catch (Exception e) {
          ofSecond.set(e);
        }
      };
      try (JobWishes.Obeying obeying = JobWishes.obey(context.sc(), folder, again)) {
        assertTrue(Fault.TWO_JOBS_CANCELLED.inject(target(), new Dice(1)));
        assertThrows(ExecutionException.class, () -> job.get(30, TimeUnit.SECONDS));
      }
      assertNotNull(ofSecond.get(), "the second job");
      assertTrue(ofSecond.get().toString().contains("cancel"), ofSecond.get().toString());
    }
  }

  @Test
  void killedTasksAreBegunAgain() throws Exception {
    try (JavaSparkContext context = local();
        JobWishes.Obeying obeying = JobWishes.obey(context.sc(), folder, () -> {})) {
      JavaFutureAction<Long> job = begun(context);
      assertTrue(Fault.TASKS_KILLED.inject(target(), new Dice(1)));
      assertEquals(1, job.get(30, TimeUnit.SECONDS));
    }
  }

  @Test
  void stagesRunAgainWhenTheDriverHasForgottenTheirOutputs() throws Exception {
    try (JavaSparkContext context = local()) {
      LongAccumulator mapped = context.sc().longAccumulator();
      JavaPairRDD<Integer, Integer> pairs = context.parallelize(List.of(1, 2, 3), 3).mapToPair(i -> {
        mapped.add(1);
        return new Tuple2<>(i, i);
      }).partitionBy(new HashPartitioner(2));
      assertEquals(3, pairs.count());
      assertEquals(3, pairs.count());
      assertEquals(3, mapped.value(), "the outputs were read again");
      // The fault returns when the driver begins, which has forgotten them when it obeys no more.
      try (JobWishes.Obeying obeying = JobWishes.obey(context.sc(), folder, () -> {})) {
        assertTrue(Fault.OUTPUTS_FORGOTTEN.inject(target(), new Dice(1)));
      }
      assertEquals(3, pairs.count());
      assertEquals(6, mapped.value(), "the outputs were made again");
    }
  }

  @Test
  void garbageIsCollected() throws Exception {
    long before = collections();
    assertTrue(Fault.GARBAGE_COLLECTED.inject(target(ProcessHandle.current()), new Dice(1)));
    assertTrue(collections() >= before + 5, before + " collections before, " + collections() + " after");
  }

  private static long collections() {
    return ManagementFactory.getGarbageCollectorMXBeans().stream()
        .mapToLong(GarbageCollectorMXBean::getCollectionCount).sum();
  }

  @ParameterizedTest
  @EnumSource(value = Fault.class,
      names = {"DESCRIPTORS_EXHAUSTED", "FILES_LIMITED", "MEMORY_REFUSED", "PINNING_LIMITED"})
  void aLimitIsLoweredAndIsThenWhatItWas(Fault fault) throws Exception {
    assumeTrue(Files.isExecutable(Path.of("/usr/bin/prlimit")), "no prlimit");
    Process executor = sleeping("ulimit -Sn 500; ulimit -Hn 600");
    Path limits = Path.of("/proc", Long.toString(executor.pid()), "limits");
    try {
      String before = Files.readString(limits);
      assertTrue(during(fault, executor.toHandle(), () -> {
        try {
          return !Files.readString(limits).equals(before);
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      }), "it was lower for a moment");
      assertEquals(before, Files.readString(limits));
      assertEquals(Optional.of("500"), Limits.FILES.soft(executor.pid()));
    } finally {
      executor.destroyForcibly().waitFor();
    }
    assertFalse(Limits.FILES.soft(executor.pid()).isPresent());
  }
}
