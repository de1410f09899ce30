package io.sluice.spark.compat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.SluiceException;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockFetcherIterator;
import org.apache.spark.util.Clock;
import org.junit.jupiter.api.Test;
import scala.Function2;
import scala.Option;
import scala.collection.Iterator;

class SparkLineTest {
  private static final BlockManagerId LOCATION = BlockManagerId.apply("1", "host", 1234, Option.empty());

  /** The constructor of Spark 3.3. */
  public static final class Fetches33 {
    final Object[] arguments;

    public Fetches33(TaskContext a, BlockStoreClient b, BlockManager c, MapOutputTracker d, Iterator<?> e,
        Function2<?, ?, ?> f, long g, int h, int i, long j, int k, boolean l, boolean m, boolean n, String o,
        ShuffleReadMetricsReporter p, boolean q) {
      arguments = new Object[] {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q};
    }
  }

  /** The constructor of Spark 3.4 to 4.2. */
  public static final class Fetches34 {
    final Clock clock;
    final boolean batch;

    public Fetches34(TaskContext a, BlockStoreClient b, BlockManager c, MapOutputTracker d, Iterator<?> e,
        Function2<?, ?, ?> f, long g, int h, int i, long j, int k, boolean l, boolean m, boolean n, String o,
        ShuffleReadMetricsReporter p, boolean batch, Clock clock) {
      this.batch = batch;
      this.clock = clock;
    }
  }

  /** A future Spark, whose signatures are not known. */
  public static final class FetchesOfTheFuture {
    public FetchesOfTheFuture(TaskContext context, String everythingElse) {}
  }

  /** {@code MapStatus} of Spark 3.3 to 4.0. */
  public static final class Status40 {
    public static String apply(BlockManagerId location, long[] lengths, long mapId) {
      return location.executorId() + Arrays.toString(lengths) + mapId;
    }
  }

  private static Object call(MethodHandle fetches, boolean batch) throws Throwable {
    return fetches.invokeWithArguments(Arrays.asList(
        null, null, null, null, null, null, 1L, 2, 3, 4L, 5, true, false, true, "CRC32", null, batch));
  }

  @Test
  void bothKnownConstructorsAreCalledWithTheSameArguments() throws Throwable {
    Fetches33 old = (Fetches33) call(SparkLine.findFetchIterator(Fetches33.class), true);
    assertEquals(List.of(1L, 2, 3, 4L, 5, true, false, true, "CRC32"), Arrays.asList(old.arguments).subList(6, 15));
    assertEquals(true, old.arguments[16]);
    Fetches34 newer = (Fetches34) call(SparkLine.findFetchIterator(Fetches34.class), true);
    assertTrue(newer.batch);
    assertNotNull(newer.clock);
  }

  @Test
  void anUnknownSparkVersionIsNamedInTheError() {
    SluiceException failure =
        assertThrows(SluiceException.class, () -> SparkLine.findFetchIterator(FetchesOfTheFuture.class));
    assertTrue(failure.getMessage().contains("Spark " + SparkLine.version()), failure::getMessage);
    assertTrue(failure.getMessage().contains("FetchesOfTheFuture(org.apache.spark.TaskContext,java.lang.String)"),
        failure::getMessage);
    assertThrows(SluiceException.class, () -> SparkLine.findMapStatus(Status40.class, long.class));
  }

  @Test
  void theMapStatusOfOlderLinesHasNoChecksum() throws Throwable {
    MethodHandle apply = SparkLine.findMapStatus(Status40.class, String.class);
    assertEquals("1[5, 0]42", apply.invoke(LOCATION, new long[] {5, 0}, 42L));
  }

  @Test
  void theRunningSparkHasAllRequiredMembers() {
    assertNotNull(SparkLine.findFetchIterator(ShuffleBlockFetcherIterator.class));
    MapStatus status = SparkLine.mapStatus(LOCATION, new long[] {0, 1, 1_000_000}, 42);
    assertEquals(LOCATION, status.location());
    assertEquals(42, status.mapId());
    assertEquals(0, status.getSizeForBlock(0));
    assertTrue(Math.abs(status.getSizeForBlock(2) - 1_000_000) < 150_000);
  }

  @Test
  void fetchSettingsHaveSparksDefaults() {
    FetchSettings settings = FetchSettings.of(new SparkConf(false));
    assertEquals(new FetchSettings(48 << 20, Integer.MAX_VALUE, Integer.MAX_VALUE, 200L << 20, 10, true, false, true,
        "ADLER32", false, false), settings);
    assertTrue(settings.batchFetchAllowed());
  }

  @Test
  void fetchSettingsAreReadWithSparksUnits() {
    FetchSettings settings = FetchSettings.of(new SparkConf(false)
        .set("spark.reducer.maxSizeInFlight", "7")
        .set("spark.network.maxRemoteBlockSizeFetchToMem", "3m")
        .set("spark.reducer.maxReqsInFlight", "11")
        .set("spark.shuffle.detectCorrupt", "false")
        .set("spark.shuffle.checksum.algorithm", "CRC32")
        .set("spark.shuffle.useOldFetchProtocol", "true"));
    assertEquals(7 << 20, settings.maxBytesInFlight());
    assertEquals(3 << 20, settings.maxBlockBytesToMemory());
    assertEquals(11, settings.maxRequestsInFlight());
    assertFalse(settings.detectCorrupt());
    assertEquals("CRC32", settings.checksumAlgorithm());
    assertFalse(settings.batchFetchAllowed());
    FetchSettings encrypted = FetchSettings.of(new SparkConf(false).set("spark.io.encryption.enabled", "true"));
    assertTrue(encrypted.batchFetchAllowed(), "of frames");
    assertFalse(encrypted.batchFetchAllowedForStreams());
  }
}
