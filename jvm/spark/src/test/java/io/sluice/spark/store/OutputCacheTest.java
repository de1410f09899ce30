package io.sluice.spark.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.MemoryFile;
import io.sluice.nativebridge.NativeLibrary;
import io.sluice.spark.Await;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The cache with a folder in place of Spark's local directories. */
@Timeout(60)
class OutputCacheTest {
  private static final int OUTPUT_BYTES = 100;
  private static final long CHARGE = OutputCache.charge(OUTPUT_BYTES);

  @TempDir private Path folder;
  private final Counters counters = new Counters();
  private final List<String> moved = new CopyOnWriteArrayList<>();
  private boolean full;
  /** Runs after an output has been copied to the disk, before the cache is told. */
  private Runnable afterCopy = () -> {};
  /** Runs before and after an output is copied to memory, before the cache is told. */
  private volatile Runnable aroundReturn = () -> {};
  private OutputCache cache;

  @BeforeAll
  static void loadLibrary() {
    NativeLibrary.Status library = NativeLibrary.load("");
    assertTrue(library.available(), library.detail());
  }

  private OutputCache open(int outputsOfRoom) {
    return open(outputsOfRoom, 1000);
  }

  private OutputCache open(int outputsOfRoom, int mostOutputs) {
    OutputDisk disk = new OutputDisk() {
      @Override
      public File dataFile(int shuffleId, long mapId) {
        return folder.resolve("shuffle_" + shuffleId + "_" + mapId).toFile();
      }

      @Override
      public File write(Copy copy) throws IOException {
        if (full) {
          throw new IOException("no local directory can take it");
        }
        Path file = Files.createTempFile(folder, "moved", "");
        try {
          copy.to(file.toFile());
          afterCopy.run();
          return file.toFile();
        } catch (RuntimeException e) {
          Files.deleteIfExists(file);
          throw e;
        }
      }

      @Override
      public long read(LongSupplier copy) {
        aroundReturn.run();
        long bytes = copy.getAsLong();
        aroundReturn.run();
        return bytes;
      }
    };
    cache = new OutputCache(outputsOfRoom * CHARGE, mostOutputs, MemoryFile::create, disk, this::noteMove, counters);
    return cache;
  }

  private synchronized void noteMove(int shuffleId, long mapId, boolean inMemory) {
    moved.add(shuffleId + "/" + mapId + (inMemory ? " to memory" : ""));
  }

  @AfterEach
  void closeAndAssertThatNothingIsLeft() throws IOException {
    cache.close();
    assertEquals(0, cache.usedBytes());
    try (var files = Files.list(folder)) {
      assertEquals(List.of(), files.toList());
    }
  }

  private static byte[] content(int shuffleId, long mapId) {
    byte[] bytes = new byte[OUTPUT_BYTES];
    Arrays.fill(bytes, (byte) (shuffleId * 31 + mapId));
    return bytes;
  }

  /** As a writer does it; null when there was no room. */
  private CachedOutput commit(int shuffleId, long mapId) throws IOException {
    CachedOutput output = cache.reserve(shuffleId, mapId, OUTPUT_BYTES);
    if (output != null) {
      Files.write(output.file().toPath(), content(shuffleId, mapId));
      output.seal();
      output.linkFrom(dataFile(shuffleId, mapId).toFile());
      assertTrue(output.isLinkedFrom(dataFile(shuffleId, mapId).toFile()));
      assertTrue(cache.commit(output, OUTPUT_BYTES));
    }
    return output;
  }

  private static boolean isOnDisk(CachedOutput output) {
    return output.state() == OutputState.ON_DISK;
  }

  private Path dataFile(int shuffleId, long mapId) {
    return folder.resolve("shuffle_" + shuffleId + "_" + mapId);
  }

  private void assertReadable(int shuffleId, long mapId) throws IOException {
    assertArrayEquals(content(shuffleId, mapId), Files.readAllBytes(dataFile(shuffleId, mapId)));
    assertEquals(OUTPUT_BYTES, dataFile(shuffleId, mapId).toFile().length());
  }

  @Test
  void memoryFilesPassTheSelfTest() {
    open(1);
    assertEquals("", MemoryFiles.selfTest(MemoryFile::create));
  }

  @Test
  void theOldestOfTheShuffleThatWasMadeFirstMovesFirst() throws IOException {
    open(3);
    CachedOutput first = commit(2, 1);
    CachedOutput second = commit(1, 1);
    CachedOutput third = commit(1, 2);
    assertEquals(3 * CHARGE, cache.usedBytes());
    commit(3, 1);
    assertEquals(List.of(true, false, false), List.of(isOnDisk(first), isOnDisk(second), isOnDisk(third)));
    commit(3, 2);
    commit(3, 3);
    assertEquals(List.of("2/1", "1/1", "1/2"), moved);
    assertEquals(3 * CHARGE, cache.usedBytes());
    for (int map = 1; map <= 3; map++) {
      assertReadable(3, map);
    }
    assertReadable(1, 1);
    assertReadable(1, 2);
    assertReadable(2, 1);
    assertEquals(6, counters.get(Counter.CACHE_OUTPUTS));
    assertEquals(3, counters.get(Counter.CACHE_MOVES));
    assertEquals(3 * OUTPUT_BYTES, counters.get(Counter.CACHE_MOVED_BYTES));
  }

  @Test
  void openAndMappedFilesStayReadableAfterAMove() throws IOException {
    open(1);
    commit(1, 1);
    try (var channel = FileChannel.open(dataFile(1, 1))) {
      var mapped = channel.map(FileChannel.MapMode.READ_ONLY, 0, OUTPUT_BYTES);
      commit(2, 1);
      assertEquals(List.of("1/1"), moved);
      assertReadableBy(channel);
      byte[] fromMemory = new byte[OUTPUT_BYTES];
      mapped.get(fromMemory);
      assertArrayEquals(content(1, 1), fromMemory);
    }
    assertReadable(1, 1);
  }

  @Test
  void anOutputLargerThanTheLimitIsRefusedAndMovesNothing() throws IOException {
    open(2);
    commit(1, 1);
    assertNull(cache.reserve(1, 2, 2 * CHARGE + 1));
    assertEquals(1, counters.get(Counter.CACHE_REFUSALS));
    assertEquals(List.of(), moved);
  }

  @Test
  void theNumberOfOutputsIsLimited() throws IOException {
    open(10, 2);
    assertNotNull(commit(1, 1));
    assertNotNull(commit(1, 2));
    assertNull(commit(1, 3));
    cache.removeShuffle(1);
    assertNotNull(commit(2, 1));
  }

  @Test
  void commitReturnsReservedBytesThatWereNotWritten() throws IOException {
    open(2);
    CachedOutput output = cache.reserve(1, 1, CHARGE);
    assertTrue(cache.usedBytes() > CHARGE);
    Files.write(output.file().toPath(), content(1, 1));
    output.linkFrom(dataFile(1, 1).toFile());
    assertTrue(cache.commit(output, OUTPUT_BYTES));
    assertEquals(CHARGE, cache.usedBytes());
    commit(1, 2);
    assertEquals(List.of(), moved);
  }

  @Test
  void onAFullDiskOutputsStayInMemoryAndNewOnesAreRefused() throws IOException {
    open(1);
    commit(1, 1);
    full = true;
    assertNull(commit(2, 1));
    assertEquals(1, counters.get(Counter.CACHE_MOVE_FAILURES));
    assertReadable(1, 1);
    full = false;
    assertNotNull(commit(2, 1));
    assertReadable(1, 1);
    assertReadable(2, 1);
  }

  @Test
  void removeShuffleFreesMemoryAndFiles() throws IOException {
    open(2);
    commit(1, 1);
    commit(1, 2);
    commit(2, 1);
    assertEquals(List.of("1/1"), moved);
    cache.removeShuffle(1);
    assertEquals(CHARGE, cache.usedBytes());
    assertFalse(Files.exists(dataFile(1, 1), LinkOption.NOFOLLOW_LINKS));
    assertReadable(2, 1);
    cache.removeShuffle(7);
  }

  @Test
  void anOutputRemovedWhileItMovesIsFreedByTheMovingThread() throws IOException {
    open(1);
    CachedOutput output = commit(1, 1);
    List<String> lateReads = new ArrayList<>();
    afterCopy = () -> lateReads.add(removedAndRead(output));
    try (var channel = FileChannel.open(dataFile(1, 1))) {
      assertNotNull(commit(2, 1));
      assertEquals(OutputState.REMOVED, output.state());
      assertReadableBy(channel);
    }
    assertEquals(List.of("REMOVED_WHILE_COPIED, readable"), lateReads);
    assertEquals(List.of(), moved);
    assertFalse(Files.exists(dataFile(1, 1), LinkOption.NOFOLLOW_LINKS));
    assertFalse(output.diskFile().exists());
    assertEquals(CHARGE, cache.usedBytes());
    assertReadable(2, 1);
  }

  @Test
  void afterAnUnexpectedExceptionOfAMoveTheOutputIsInMemory() throws IOException {
    open(1);
    CachedOutput output = commit(1, 1);
    afterCopy = () -> {
      throw new IllegalArgumentException("on purpose");
    };
    assertNull(commit(2, 1));
    assertEquals(OutputState.IN_MEMORY, output.state());
    cache.removeShuffle(1);
    assertEquals(0, cache.usedBytes());
  }

  @Test
  void writersCallsOnACommittedOutputAreErrors() throws IOException {
    open(2);
    CachedOutput output = commit(1, 1);
    assertThrows(IllegalStateException.class, output::seal);
    assertThrows(IllegalStateException.class, () -> output.linkFrom(dataFile(1, 2).toFile()));
    assertThrows(IllegalStateException.class, () -> cache.commit(output, OUTPUT_BYTES));
    assertThrows(IllegalStateException.class, () -> cache.abandon(output));
    assertEquals(CHARGE, cache.usedBytes());
    assertReadable(1, 1);
  }

  @Test
  void anOutputThatCannotBeWrittenIsCountedAndFreed() throws IOException {
    open(1);
    cache.writeFailed(cache.reserve(1, 1, OUTPUT_BYTES));
    assertEquals(1, counters.get(Counter.CACHE_REFUSALS));
    assertEquals(0, cache.usedBytes());
    assertNotNull(commit(1, 1));
  }

  @Test
  void theOutputOfASecondAttemptIsFreed() throws IOException {
    open(2);
    commit(1, 1);
    CachedOutput second = cache.reserve(1, 1, OUTPUT_BYTES);
    assertFalse(second.isLinkedFrom(dataFile(1, 1).toFile()));
    cache.abandon(second);
    assertThrows(IllegalStateException.class, () -> cache.abandon(second));
    assertEquals(CHARGE, cache.usedBytes());
    assertReadable(1, 1);
  }

  /**
   * Its path contains the descriptor's number, which another file would get if this one were closed while its writer is
   * at work.
   */
  @Test
  void removeShuffleKeepsOutputsThatAreBeingWritten() throws IOException {
    open(3);
    CachedOutput place = cache.reserve(1, 1, OUTPUT_BYTES);
    cache.removeShuffle(1);
    CachedOutput other = commit(2, 1);
    assertNotEquals(place.file(), other.file());
    Files.write(place.file().toPath(), content(1, 1));
    place.seal();
    place.linkFrom(dataFile(1, 1).toFile());
    assertFalse(cache.commit(place, OUTPUT_BYTES));
    cache.abandon(place);
    assertFalse(Files.exists(dataFile(1, 1), LinkOption.NOFOLLOW_LINKS));
    assertReadable(2, 1);
    assertEquals(CHARGE, cache.usedBytes());
  }

  @Test
  void closeKeepsOutputsThatAreBeingWritten() throws IOException {
    open(1);
    CachedOutput place = cache.reserve(1, 1, OUTPUT_BYTES);
    cache.close();
    Files.write(place.file().toPath(), content(1, 1));
    place.linkFrom(dataFile(1, 1).toFile());
    assertFalse(cache.commit(place, OUTPUT_BYTES));
    cache.abandon(place);
  }

  @Test
  void aClosedCacheRefusesOutputs() throws IOException {
    open(2);
    commit(1, 1);
    cache.close();
    assertNull(cache.reserve(1, 2, OUTPUT_BYTES));
  }

  private static void awaitState(CachedOutput output, OutputState state) {
    Await.until(output + " is " + state, () -> output.state() == state);
  }

  /** An output that is on the disk, and room for it. */
  private CachedOutput onDiskWithRoom() throws IOException {
    open(1);
    CachedOutput output = commit(1, 1);
    commit(2, 1);
    assertTrue(isOnDisk(output));
    cache.removeShuffle(2);
    return output;
  }

  private boolean isMemoryFile(int shuffleId, long mapId) throws IOException {
    // The data file's link leads to a link of /proc.
    Path descriptor = Files.readSymbolicLink(dataFile(shuffleId, mapId));
    return Files.readSymbolicLink(descriptor).toString().startsWith("/memfd:");
  }

  @Test
  void anOutputThatIsReadAgainAndAgainComesBack() throws IOException {
    CachedOutput output = onDiskWithRoom();
    assertFalse(isMemoryFile(1, 1));
    cache.read(1, 100);
    assertTrue(isOnDisk(output), "read once");
    cache.read(1, 101);
    awaitState(output, OutputState.IN_MEMORY);
    Await.until("it is counted", () -> counters.get(Counter.CACHE_RETURNED_BYTES) == OUTPUT_BYTES);
    assertEquals(1, counters.get(Counter.CACHE_RETURNS));
    assertTrue(isMemoryFile(1, 1));
    assertReadable(1, 1);
    assertEquals(CHARGE, cache.usedBytes());
    Await.until("the transport is told", () -> moved.equals(List.of("1/1", "1/1 to memory")));
    commit(3, 1);
    assertTrue(isOnDisk(output));
    assertFalse(isMemoryFile(1, 1));
    assertEquals(1, counters.get(Counter.CACHE_MOVES_WITHOUT_COPY));
    assertReadable(1, 1);
  }

  /** A reader inside of each state: it is done while the copy cannot go on. */
  @Test
  void readersWaitForNoMoveAndNoReturn() throws Exception {
    open(1);
    CachedOutput output = commit(1, 1);
    afterCopy = () -> assertReadableIn(output, OutputState.MOVING);
    commit(2, 1);
    assertReadableIn(output, OutputState.ON_DISK);
    cache.removeShuffle(2);
    afterCopy = () -> {};
    CountDownLatch inReturn = new CountDownLatch(2);
    CountDownLatch goOn = new CountDownLatch(1);
    aroundReturn = () -> {
      inReturn.countDown();
      awaitQuietly(inReturn.getCount() > 0 ? new CountDownLatch(0) : goOn);
    };
    cache.read(1, 100);
    cache.read(1, 101);
    assertTrue(inReturn.await(30, TimeUnit.SECONDS));
    assertReadableIn(output, OutputState.RETURNING);
    cache.read(1, 102);
    assertReadableIn(output, OutputState.RETURNING);
    goOn.countDown();
    awaitState(output, OutputState.IN_MEMORY);
    assertReadableIn(output, OutputState.IN_MEMORY);
    try (var channel = FileChannel.open(dataFile(1, 1))) {
      cache.removeShuffle(1);
      assertEquals(OutputState.REMOVED, output.state());
      assertReadableBy(channel);
    }
  }

  /** Removes shuffle 1 in the middle of a copy; what a reader finds then that had not opened its output before. */
  private String removedAndRead(CachedOutput output) {
    cache.removeShuffle(1);
    try {
      boolean same = Arrays.equals(content(1, 1), Files.readAllBytes(dataFile(1, 1)));
      return output.state() + (same ? ", readable" : ", other bytes");
    } catch (IOException e) {
      return output.state() + ", " + e;
    }
  }

  /** Who opened the output 1 of shuffle 1 before it was freed reads on. */
  private static void assertReadableBy(FileChannel channel) throws IOException {
    ByteBuffer read = ByteBuffer.allocate(OUTPUT_BYTES);
    assertEquals(OUTPUT_BYTES, channel.read(read));
    assertArrayEquals(content(1, 1), read.array());
  }

  private void assertReadableIn(CachedOutput output, OutputState state) {
    try {
      assertEquals(state, output.state());
      assertReadable(output.shuffleId(), output.mapId());
      assertEquals(state, output.state());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      assertTrue(latch.await(30, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void anOutputRemovedWhileItComesBackIsFreedByTheCopyingThread() throws IOException {
    CachedOutput output = onDiskWithRoom();
    List<String> lateReads = new CopyOnWriteArrayList<>();
    aroundReturn = () -> lateReads.add(removedAndRead(output));
    try (var channel = FileChannel.open(dataFile(1, 1))) {
      cache.read(1, 100);
      cache.read(1, 101);
      awaitState(output, OutputState.REMOVED);
      Await.until("it is freed", () -> cache.usedBytes() == 0);
      assertReadableBy(channel);
    }
    assertEquals(List.of("REMOVED_WHILE_COPIED, readable", "REMOVED_WHILE_COPIED, readable"), lateReads,
        "before and after the copy");
    assertFalse(Files.exists(dataFile(1, 1), LinkOption.NOFOLLOW_LINKS));
    assertFalse(output.diskFile().exists());
  }

  @Test
  void anOutputThatCannotComeBackStaysReadableOnTheDisk() throws IOException {
    CachedOutput output = onDiskWithRoom();
    aroundReturn = () -> {
      throw new IllegalArgumentException("on purpose");
    };
    cache.read(1, 100);
    cache.read(1, 101);
    Await.until("it has failed", () -> counters.get(Counter.CACHE_RETURN_FAILURES) == 1);
    assertTrue(isOnDisk(output));
    assertEquals(0, cache.usedBytes());
    assertReadable(1, 1);
    cache.read(1, 102);
    assertNotNull(commit(3, 1));
    assertEquals(1, counters.get(Counter.CACHE_RETURN_FAILURES), "it is not tried again");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aCopyOnTheDiskThatIsGoneOrCutIsMadeAgain(boolean gone) throws IOException {
    CachedOutput output = onDiskWithRoom();
    cache.read(1, 100);
    cache.read(1, 101);
    awaitState(output, OutputState.IN_MEMORY);
    if (gone) {
      Files.delete(output.diskFile().toPath());
    } else {
      Files.write(output.diskFile().toPath(), new byte[] {1, 2, 3});
    }
    commit(3, 1);
    assertTrue(isOnDisk(output));
    assertReadable(1, 1);
    assertEquals(0, counters.get(Counter.CACHE_MOVES_WITHOUT_COPY));
  }

  @Test
  void aLowerLimitMovesOutputsAndAHigherOneBringsThemBack() throws IOException {
    open(4);
    List<CachedOutput> outputs = new ArrayList<>();
    for (int map = 0; map < 4; map++) {
      outputs.add(commit(1, map));
    }
    cache.read(1, 100);
    cache.read(1, 101);
    cache.setLimitBytes(CHARGE);
    Await.until("three have moved", () -> outputs.stream().filter(OutputCacheTest::isOnDisk).count() == 3);
    assertEquals(CHARGE, cache.usedBytes());
    for (int map = 0; map < 4; map++) {
      assertReadable(1, map);
    }
    cache.setLimitBytes(4 * CHARGE);
    Await.until("all are back", () -> outputs.stream().noneMatch(OutputCacheTest::isOnDisk)
        && counters.get(Counter.CACHE_RETURNS) == 3);
    assertEquals(4 * CHARGE, cache.usedBytes());
    for (int map = 0; map < 4; map++) {
      assertReadable(1, map);
    }
  }

  /** Outputs are committed, moved, brought back, read and removed at the same time, under a limit that changes. */
  @Test
  void concurrentCommitsMovesReturnsReadsAndChangesOfTheLimit() throws Exception {
    open(6);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    List<Future<Void>> results = new ArrayList<>();
    for (int thread = 0; thread < 3; thread++) {
      int kept = thread + 1;
      int firstShuffle = 1000 * (thread + 1);
      results.add(threads.submit((Callable<Void>) () -> {
        List<Integer> keptMaps = new ArrayList<>();
        for (int map = 0; map < 4; map++) {
          if (commit(kept, map) != null) {
            keptMaps.add(map);
          }
        }
        for (int round = 0; round < 200; round++) {
          cache.read(kept, round);
          for (int map : keptMaps) {
            assertReadable(kept, map);
          }
          int shuffle = firstShuffle + round;
          if (commit(shuffle, 0) != null) {
            cache.read(shuffle, round);
            assertReadable(shuffle, 0);
          }
          cache.removeShuffle(shuffle);
        }
        return null;
      }));
    }
    results.add(threads.submit((Callable<Void>) () -> {
      for (int round = 0; round < 100; round++) {
        cache.setLimitBytes((1 + round % 12) * CHARGE);
        Thread.sleep(2);
      }
      return null;
    }));
    threads.shutdown();
    for (Future<Void> result : results) {
      result.get(50, TimeUnit.SECONDS);
    }
    assertTrue(counters.get(Counter.CACHE_RETURNS) > 0);
    assertTrue(counters.get(Counter.CACHE_MOVES_WITHOUT_COPY) > 0);
    assertEquals(0, counters.get(Counter.CACHE_MOVE_FAILURES) + counters.get(Counter.CACHE_RETURN_FAILURES));
    cache.setLimitBytes(0);
    Await.until("nothing is in memory", () -> cache.usedBytes() == 0);
  }

  /** Outputs are committed, moved, read and removed at the same time; every output that can be opened is complete. */
  @Test
  void concurrentCommitsMovesReadsAndRemovals() throws Exception {
    open(5);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    List<Future<Void>> results = new ArrayList<>();
    for (int thread = 0; thread < 4; thread++) {
      int firstShuffle = 1000 * (thread + 1);
      results.add(threads.submit((Callable<Void>) () -> {
        for (int round = 0; round < 20; round++) {
          int shuffle = firstShuffle + round;
          for (int map = 0; map < 8; map++) {
            if (commit(shuffle, map) != null) {
              assertReadable(shuffle, map);
            }
          }
          for (int map = 0; map < 8; map++) {
            if (Files.exists(dataFile(shuffle, map))) {
              assertReadable(shuffle, map);
            }
          }
          cache.removeShuffle(shuffle);
        }
        return null;
      }));
    }
    threads.shutdown();
    for (Future<Void> result : results) {
      result.get(50, TimeUnit.SECONDS);
    }
    assertTrue(counters.get(Counter.CACHE_MOVES) > 0);
    assertEquals(0, counters.get(Counter.CACHE_MOVE_FAILURES));
    assertEquals(0, cache.usedBytes());
  }

  /** Of this process, those that outputs hold. */
  private long descriptors() {
    try (var files = Files.list(Path.of("/proc/self/fd"))) {
      return files.filter(file -> {
        try {
          String target = Files.readSymbolicLink(file).toString();
          return target.startsWith("/memfd:sluice-shuffle") || target.startsWith(folder.toString());
        } catch (IOException e) {
          // Closed meanwhile by the thread that has it.
          return false;
        }
      }).count();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void anOutputHoldsOneDescriptorUntilItsShuffleIsRemoved() throws IOException {
    long before = descriptors();
    open(5);
    for (int shuffle = 1; shuffle <= 100; shuffle++) {
      commit(shuffle, 1);
    }
    assertEquals(95, moved.size());
    assertEquals(before + 100, descriptors());
    for (int shuffle = 1; shuffle <= 100; shuffle++) {
      cache.removeShuffle(shuffle);
    }
    assertEquals(before, descriptors());
  }
}
