package io.sluice.spark.compat;

import io.sluice.spark.SluiceException;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.Aggregator;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockFetcherIterator;
import org.apache.spark.util.Clock;
import org.apache.spark.util.SystemClock;
import org.apache.spark.util.collection.ExternalSorter;
import org.apache.spark.util.collection.unsafe.sort.PrefixComparator;
import org.apache.spark.util.collection.unsafe.sort.RecordComparator;
import org.apache.spark.util.collection.unsafe.sort.UnsafeExternalSorter;
import scala.Function2;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.math.Ordering;

/**
 * The calls into Spark whose binary signature depends on the line. Each is looked up once per process; a
 * process on a Spark that has none of the known signatures gets a {@link SluiceException} that names the call,
 * the Spark version and the signatures that were found. Thread-safe.
 */
public final class SparkLine {
  private static final String SUPPORTED = "3.3 to 4.2";
  /** Spark's default of {@code spark.shuffle.sort.initialBufferSize}. */
  private static final String INITIAL_RECORDS = "4096";

  private SparkLine() {}

  /** The version that Spark reports of itself. */
  public static String version() {
    return org.apache.spark.package$.MODULE$.SPARK_VERSION();
  }

  /**
   * The report of a map task to the driver: the location of its output and the size of each partition's block.
   *
   * @param lengths bytes per partition
   * @param mapTaskId the map id, which is the task attempt's id
   */
  public static MapStatus mapStatus(BlockManagerId location, long[] lengths, long mapTaskId) {
    try {
      return (MapStatus) MapStatusCall.HANDLE.invokeExact(location, lengths, mapTaskId);
    } catch (Throwable thrown) {
      throw unchecked(thrown);
    }
  }

  /**
   * Starts Spark's own fetch of shuffle blocks: its constructor sends the first requests.
   *
   * @param client the client that sends the requests: {@code blockManager}'s own, or one that wraps it
   * @param blocksByAddress tuples of a {@link BlockManagerId} and a Scala sequence of (block id, size, map index)
   * @param streamWrapper called on the task thread for each block that arrived, from inside {@code next()}
   * @return pairs of block id and stream; each stream must be closed before the next pair is asked for
   */
  public static Iterator<Tuple2<BlockId, InputStream>> fetchIterator(
      TaskContext context,
      BlockStoreClient client,
      BlockManager blockManager,
      MapOutputTracker tracker,
      Iterator<?> blocksByAddress,
      Function2<BlockId, InputStream, InputStream> streamWrapper,
      FetchSettings settings,
      ShuffleReadMetricsReporter metrics,
      boolean batchFetch) {
    try {
      ShuffleBlockFetcherIterator fetches = (ShuffleBlockFetcherIterator) FetchCall.HANDLE.invokeExact(
          context, client, blockManager, tracker, (Iterator) blocksByAddress,
          (Function2) streamWrapper, settings.maxBytesInFlight(), settings.maxRequestsInFlight(),
          settings.maxBlocksInFlightPerAddress(), settings.maxBlockBytesToMemory(),
          settings.maxAttemptsOnNettyOom(), settings.detectCorrupt(), settings.detectCorruptUseExtraMemory(),
          settings.checksumEnabled(), settings.checksumAlgorithm(), metrics, batchFetch);
      return fetches.toCompletionIterator();
    } catch (Throwable thrown) {
      throw unchecked(thrown);
    }
  }

  /**
   * Spark's sorter of records by key, with spilling, for one partition.
   *
   * @param aggregator combines the records of a key; none keeps them all
   */
  @SuppressWarnings("unchecked")
  public static <K, V, C> ExternalSorter<K, V, C> externalSorter(TaskContext context,
      Option<Aggregator<K, V, C>> aggregator, Option<Ordering<K>> ordering, Serializer serializer) {
    try {
      return (ExternalSorter<K, V, C>) SorterCall.HANDLE.invoke(
          context, aggregator, Option.empty(), ordering, serializer);
    } catch (Throwable thrown) {
      throw unchecked(thrown);
    }
  }

  /** Spark's sorter of binary rows, with the page and buffer sizes that Spark itself uses. */
  public static UnsafeExternalSorter rowSorter(TaskContext context, Supplier<RecordComparator> comparator,
      PrefixComparator prefixes, boolean radixSort) {
    SparkEnv env = SparkEnv.get();
    SparkConf conf = env.conf();
    try {
      return (UnsafeExternalSorter) RowSorterCall.HANDLE.invokeExact(context.taskMemoryManager(),
          env.blockManager(), env.serializerManager(), context, comparator, prefixes,
          (int) conf.getSizeAsBytes("spark.shuffle.sort.initialBufferSize", INITIAL_RECORDS),
          context.taskMemoryManager().pageSizeBytes(),
          conf.getInt("spark.shuffle.spill.numElementsForceSpillThreshold", Integer.MAX_VALUE), radixSort);
    } catch (Throwable thrown) {
      throw unchecked(thrown);
    }
  }

  /**
   * The sorter of rows: ten arguments up to 4.0, from 4.1 also a size that forces a spill, from 4.2 how many spills are
   * merged at once. The added arguments come before the last one; both get "no limit", Spark's defaults.
   */
  static MethodHandle findRowSorter(Class<?> owner) {
    List<Class<?>> first = List.of(TaskMemoryManager.class, BlockManager.class, SerializerManager.class,
        TaskContext.class, Supplier.class, PrefixComparator.class, int.class, long.class, int.class);
    List<Class<?>> last = List.of(boolean.class);
    return new Signatures(owner, version(), SUPPORTED)
        .staticMethod("create", owner, first, List.of(), last)
        .staticMethod("create", owner, first, List.of(long.class), last, Long.MAX_VALUE)
        .staticMethod("create", owner, first, List.of(long.class, int.class), last, Long.MAX_VALUE, -1)
        .found();
  }

  /** The sorter: five arguments up to 4.0; from 4.1 a sixth, the row-based checksums (none on the reduce side). */
  static MethodHandle findSorter(Class<?> owner) {
    List<Class<?>> arguments =
        List.of(TaskContext.class, Option.class, Option.class, Option.class, Serializer.class);
    Signatures signatures = new Signatures(owner, version(), SUPPORTED).constructor(arguments);
    try {
      Class<?> checksums = Class.forName("[Lorg.apache.spark.shuffle.checksum.RowBasedChecksum;");
      Object none = Array.newInstance(checksums.getComponentType(), 0);
      return signatures.constructor(arguments, List.of(checksums), none).found();
    } catch (ClassNotFoundException beforeRowBasedChecksums) {
      return signatures.found();
    }
  }

  /** {@code MapStatus.apply}: three arguments up to 4.0; from 4.1 a fourth, the row-based checksum (0 = none). */
  static MethodHandle findMapStatus(Class<?> owner, Class<?> result) {
    List<Class<?>> arguments = List.of(BlockManagerId.class, long[].class, long.class);
    return new Signatures(owner, version(), SUPPORTED)
        .staticMethod("apply", result, arguments)
        .staticMethod("apply", result, arguments, List.of(long.class), 0L)
        .found();
  }

  /** The fetch iterator: 17 arguments on 3.3; from 3.4 an eighteenth, the clock. */
  static MethodHandle findFetchIterator(Class<?> owner) {
    List<Class<?>> arguments = List.of(
        TaskContext.class, BlockStoreClient.class, BlockManager.class, MapOutputTracker.class, Iterator.class,
        Function2.class, long.class, int.class, int.class, long.class, int.class, boolean.class, boolean.class,
        boolean.class, String.class, ShuffleReadMetricsReporter.class, boolean.class);
    return new Signatures(owner, version(), SUPPORTED)
        .constructor(arguments)
        .constructor(arguments, List.of(Clock.class), new SystemClock())
        .found();
  }

  /** Throws {@code thrown} as it is; a checked exception too, which the caller's callers need not declare. */
  public static RuntimeException unchecked(Throwable thrown) {
    return SparkLine.<RuntimeException>sneak(thrown);
  }

  /** Rethrows Spark's exception unchanged: Scala code throws checked exceptions without declaring them. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> RuntimeException sneak(Throwable thrown) throws E {
    throw (E) thrown;
  }

  private static final class MapStatusCall {
    static final MethodHandle HANDLE = findMapStatus(MapStatus.class, MapStatus.class)
        .asType(MethodType.methodType(MapStatus.class, BlockManagerId.class, long[].class, long.class));
  }

  private static final class RowSorterCall {
    static final MethodHandle HANDLE = findRowSorter(UnsafeExternalSorter.class);
  }

  private static final class SorterCall {
    static final MethodHandle HANDLE = findSorter(ExternalSorter.class);
  }

  private static final class FetchCall {
    static final MethodHandle HANDLE = findFetchIterator(ShuffleBlockFetcherIterator.class);
  }
}
