package io.sluice.nativebridge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The contract of the calls, on the library as it is built. */
final class NativeCoreTest {
  private static final long LIMIT = 64 << 20;
  private static final long[] NO_PAGES = {};

  @TempDir Path directory;

  @BeforeEach
  void loadLibrary() {
    NativeLibrary.Status status = NativeLibrary.load("");
    assertTrue(status.available(), status.detail());
    NativeCore.setMemoryLimit(LIMIT);
  }

  @AfterEach
  void nothingIsLeased() {
    assertEquals(0, NativeCore.leasedBytes());
    assertEquals(0, NativeCore.checkArena(), NativeCore::lastErrorMessage);
  }

  @Test
  void callsAfterCommitAreErrorsThatSayWhy() {
    long writer = open(3);
    long[] lengths = new long[3];
    String data = directory.resolve("data").toString();
    assertEquals(0, NativeCore.writerEncode(writer, 0, 1, NO_PAGES));
    assertEquals(0, NativeCore.writerCommit(writer, data, NativeCore.CHECKSUM_NONE, lengths, null));
    NativeException refused = assertThrows(NativeException.class,
        () -> NativeException.check(NativeCore.writerEncode(writer, 1, 1, NO_PAGES)));
    assertEquals(NativeCore.WRONG_PHASE, refused.reason());
    assertTrue(refused.getMessage().contains("already committed"), refused.getMessage());
    assertEquals(NativeCore.WRONG_PHASE, NativeCore.writerSpill(writer, data));
    assertEquals(NativeCore.WRONG_PHASE,
        NativeCore.writerCommit(writer, data, NativeCore.CHECKSUM_NONE, lengths, null));
    assertEquals(0, NativeCore.writerClose(writer));
    assertEquals(NativeCore.STALE_HANDLE, NativeCore.writerSpill(writer, data));
  }

  @Test
  void everyReasonHasANumberOfItsOwn() throws ReflectiveOperationException {
    Map<Integer, String> reasons = new HashMap<>();
    for (Class<?> contract : new Class<?>[] {NativeCore.class, NativeTransport.class}) {
      for (Field constant : contract.getFields()) {
        if (constant.getType() == int.class && constant.getInt(null) < 0) {
          String other = reasons.put(constant.getInt(null), constant.getName());
          assertNull(other, constant.getName() + " has the number of " + other);
        }
      }
    }
    assertEquals("BUSY", reasons.get(NativeTransport.BUSY));
  }

  @Test
  void aFailedWriteNamesItsDirectory() {
    long writer = open(1);
    File missing = directory.resolve("missing").toFile();
    NativeException failed = assertThrows(NativeException.class, () -> NativeException.check(NativeCore.writerCommit(
        writer, new File(missing, "data").getPath(), NativeCore.CHECKSUM_NONE, new long[1], null)));
    assertEquals(NativeCore.DIRECTORY_FAILED, failed.reason());
    assertEquals(Optional.of(missing), failed.failedDirectory());
    assertTrue(failed.isDirectoryFailure());
    NativeException full = assertThrows(NativeException.class, () -> NativeException.check(
        writeThrough(directory.resolve("full"))));
    assertEquals(NativeCore.DISK_FULL, full.reason());
    NativeException invalid = assertThrows(NativeException.class, () -> NativeException.check(NativeCore.lease(-1)));
    assertEquals(Optional.empty(), invalid.failedDirectory());
    assertFalse(invalid.isDirectoryFailure());
    NativeCore.writerClose(writer);
  }

  /** A memory file's move to a full device. */
  private long writeThrough(Path link) {
    try (MemoryFile file = MemoryFile.create("test")) {
      Files.write(file.path(), new byte[100]);
      Files.createSymbolicLink(link, Path.of("/dev/full"));
      return file.moveTo(link.toFile());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void leasedAndReservedBytesFollowTheLeases() {
    ArenaStatistics before = NativeCore.arenaStatistics();
    assertEquals(LIMIT, before.limitBytes());
    try (Lease lease = Lease.tryTake(1 << 20)) {
      ArenaStatistics during = NativeCore.arenaStatistics();
      assertEquals(before.leasedBytes() + (1 << 20), during.leasedBytes());
      assertEquals(before.leases() + 1, during.leases());
      assertTrue(during.reservedBytes() >= 1 << 20 && during.peakLeasedBytes() >= 1 << 20, during::toString);
      ArenaFigures figures = Arena.NATIVE.figures();
      assertEquals(NativeCore.leasedBytes(), figures.leasedBytes());
      assertEquals(NativeCore.reservedBytes(), figures.reservedBytes());
      assertEquals(0, figures.receivedBytes());
      assertTrue(figures.peakLeasedBytes() >= figures.leasedBytes(), figures::toString);
      assertEquals(NativeCore.NO_MEMORY, NativeCore.lease(LIMIT));
    }
    ArenaStatistics after = NativeCore.arenaStatistics();
    assertEquals(before.refusedByLimit() + 1, after.refusedByLimit());
    assertEquals(LIMIT, after.lastRefusalRequestedBytes());
    assertEquals(1 << 20, after.lastRefusalLeasedBytes());
    assertEquals(LIMIT, after.lastRefusalLimitBytes());
    assertEquals(after.leases(), after.releases());
    assertEquals(0, NativeCore.receiveArenaStatistics().leasedBytes());
  }

  @Test
  void scratchBytesAreCountedAndEstimatedBeforeEncoding() {
    long writer = open(1000);
    long[] small = new long[2];
    long[] giant = new long[2];
    assertEquals(0, NativeCore.writerEncodeNeeds(writer, 1 << 20, 10_000, 200, 5, small));
    assertEquals(0, NativeCore.writerEncodeNeeds(writer, 100 << 20, 1, 100 << 20, 5, giant));
    assertTrue(small[0] > 1 << 20 && small[0] < 2 << 20, () -> small[0] + " bytes leased");
    assertTrue(small[1] > 4 << 20 && small[1] < 8 << 20, () -> small[1] + " bytes of scratch");
    assertTrue(giant[0] > 100L << 20 && giant[0] < 120L << 20, () -> giant[0] + " bytes leased");
    assertTrue(giant[1] > 200L << 20 && giant[1] < 400L << 20, () -> giant[1] + " bytes of scratch");
    assertEquals(NativeCore.INVALID, NativeCore.writerEncodeNeeds(writer, Long.MAX_VALUE, 1, 1, 1, small));
    assertEquals(0, NativeCore.writerEncode(writer, 0, 1, NO_PAGES));
    assertNotEquals(0, NativeCore.scratchBytes());
    NativeCore.writerClose(writer);
  }

  @Test
  void freeMemoryIsGivenBackToTheSystem() {
    Lease.tryTake(8 << 20).close();
    assertTrue(NativeCore.arenaStatistics().touchedBytes() >= 8 << 20);
    assertTrue(NativeCore.purge(true) >= 8 << 20);
    assertEquals(0, NativeCore.arenaStatistics().touchedBytes());
    assertEquals(0, NativeCore.purge(false));
  }

  private static long open(int partitions) {
    return NativeException
        .check(NativeCore.writerOpen(partitions, NativeCore.CODEC_LZ4, NativeCore.LEVEL_FAST, true, null, null));
  }
}
