package io.sluice.spark.conf;

import io.sluice.spark.SluiceException;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.spark.SparkConf;
import scala.Tuple2;

/**
 * The settings of one application, resolved and checked once: every {@code auto} is a number here.
 *
 * @param enabled the application's default of {@code spark.sluice.enabled}; a session may differ
 * @param recordsEnabled whether shuffles other than SQL's take Sluice's path
 * @param mode the preset, for messages: {@code codec}, {@code store} and {@code transport} say what holds
 * @param cacheLimitBytes of the map outputs in memory; not used with {@code store} files
 * @param batchBytes empty when each writer decides by its partitions and rows
 * @param maxBatchBytes upper bound of what a writer decides
 * @param memoryLimitBytes not used when {@code offHeapEnabled}
 * @param offHeapEnabled whether memory is accounted by Spark's memory manager
 * @param offHeapBytes {@code spark.memory.offHeap.size}
 * @param nativeLibrary path of the library, or empty for the jar's
 * @param blocks the settings of Spark that shape the blocks
 */
public record Settings(
    boolean enabled,
    boolean recordsEnabled,
    Mode mode,
    Codec codec,
    Store store,
    long cacheLimitBytes,
    TransportSettings transport,
    int writerThreads,
    int readerThreads,
    long readerMaxBytesInFlight,
    long pageBytes,
    OptionalLong batchBytes,
    long maxBatchBytes,
    long memoryLimitBytes,
    long memoryWaitNanos,
    boolean failOnLeak,
    boolean offHeapEnabled,
    long offHeapBytes,
    String nativeLibrary,
    Cores cores,
    BlockSettings blocks) {

  private static final long MIB = 1024L * 1024L;
  private static final long MIN_AUTO_LIMIT = 256 * MIB;
  private static final long AUTO_LIMIT_PER_CORE = 96 * MIB;
  private static final long MIN_BATCH = 4 * MIB;
  private static final long MAX_BATCH = 64 * MIB;
  private static final long ROWS_PER_PARTITION = 1024;
  private static final long BATCH_SHARE = 4;
  private static final long SORT_SHARE = 2;
  /** Smaller, because Spark's sorter, which takes over, must find room beside the rows in the same memory. */
  private static final long SORT_SHARE_OF_SPARKS = 8;

  /**
   * Resolves the application's settings.
   *
   * @throws SluiceException for an unknown {@code spark.sluice.} key, a value out of range, or axes that do not go
   *     together
   */
  public static Settings from(SparkConf conf) {
    return from(conf, Cores.of(conf));
  }

  static Settings from(SparkConf conf, Cores cores) {
    rejectUnknownKeys(conf);
    Mode mode = value(conf, SluiceSettings.MODE);
    Codec codec = axis(conf, SluiceSettings.CODEC, mode.codec());
    boolean offHeap = conf.getBoolean("spark.memory.offHeap.enabled", false);
    long offHeapBytes = conf.getSizeAsBytes("spark.memory.offHeap.size", "0");
    long limit = value(conf, SluiceSettings.MEMORY_LIMIT)
        .orElse(Math.max(MIN_AUTO_LIMIT, AUTO_LIMIT_PER_CORE * cores.task()));
    long perCore = (offHeap ? offHeapBytes : limit) / cores.task();
    return new Settings(
        value(conf, SluiceSettings.ENABLED),
        value(conf, SluiceSettings.RECORDS_ENABLED),
        mode,
        codec,
        store(conf, mode, codec),
        value(conf, SluiceSettings.CACHE_HOST_LIMIT),
        transport(conf, mode),
        (int) value(conf, SluiceSettings.WRITER_THREADS).orElse(cores.spare()),
        (int) value(conf, SluiceSettings.READER_THREADS).orElse(cores.spare()),
        value(conf, SluiceSettings.READER_MAX_BYTES_IN_FLIGHT),
        value(conf, SluiceSettings.WRITER_PAGE_BYTES),
        value(conf, SluiceSettings.WRITER_BATCH_BYTES),
        Math.min(MAX_BATCH, perCore / BATCH_SHARE),
        limit,
        value(conf, SluiceSettings.MEMORY_WAIT_TIMEOUT) * 1_000_000L,
        value(conf, SluiceSettings.MEMORY_FAIL_ON_LEAK),
        offHeap,
        offHeapBytes,
        value(conf, SluiceSettings.NATIVE_LIBRARY),
        cores,
        BlockSettings.from(conf, value(conf, SluiceSettings.CODEC_LEVEL)));
  }

  private static Store store(SparkConf conf, Mode mode, Codec codec) {
    Store store = axis(conf, SluiceSettings.STORE, mode.store());
    if (store == Store.CACHE && codec == Codec.SPARK) {
      throw new SluiceException("spark.sluice.store = cache needs spark.sluice.codec = sluice: Spark's own writers write"
          + " files. Set spark.sluice.store=files, or leave spark.sluice.codec out (spark.sluice.mode is " + mode + ")");
    }
    return store;
  }

  private static TransportSettings transport(SparkConf conf, Mode mode) {
    return new TransportSettings(
        axis(conf, SluiceSettings.TRANSPORT, mode.transport()),
        value(conf, SluiceSettings.UCX_LIBRARY),
        value(conf, SluiceSettings.TRANSPORT_TIMEOUT),
        value(conf, SluiceSettings.TRANSPORT_RETRY_DELAY) * 1_000_000L,
        value(conf, SluiceSettings.TRANSPORT_MAX_CONNECTIONS),
        value(conf, SluiceSettings.TRANSPORT_MAX_MAPPED_BYTES),
        value(conf, SluiceSettings.TRANSPORT_MAX_MAPPED_REGIONS),
        value(conf, SluiceSettings.UCX_ALLOW_UNAUTHENTICATED_TCP));
  }

  /** What the user set, else what the mode says. */
  private static <T> T axis(SparkConf conf, Setting<T> setting, T preset) {
    return conf.contains(setting.key()) ? value(conf, setting) : preset;
  }

  private static <T> T value(SparkConf conf, Setting<T> setting) {
    return setting.parse(conf.get(setting.key(), setting.defaultText()));
  }

  private static void rejectUnknownKeys(SparkConf conf) {
    List<String> known = SluiceSettings.all().stream().map(Setting::key).toList();
    Set<String> unknown = Arrays.stream(conf.getAll())
        .map(Tuple2::_1)
        .filter(key -> key.startsWith(SluiceSettings.PREFIX) && !known.contains(key))
        .collect(Collectors.toCollection(TreeSet::new));
    if (!unknown.isEmpty()) {
      throw new SluiceException("unknown settings " + unknown + ": the settings of this version are " + known);
    }
  }

  /**
   * Bytes of rows that a writer encodes together.
   *
   * @param partitions of the shuffle
   * @param averageRowBytes of the rows seen so far
   */
  public long batchBytes(int partitions, long averageRowBytes) {
    long wanted = Math.multiplyHigh(partitions * ROWS_PER_PARTITION, averageRowBytes) == 0
        ? partitions * ROWS_PER_PARTITION * averageRowBytes
        : Long.MAX_VALUE;
    long decided = Math.min(Math.max(wanted, MIN_BATCH), maxBatchBytes);
    return batchBytes.orElse(decided);
  }

  /** The most block memory in which one task may keep rows to sort them, in bytes: the rest is for what comes and goes. */
  public long sortBytes() {
    return memoryBytes() / cores.task() / (offHeapEnabled ? SORT_SHARE_OF_SPARKS : SORT_SHARE);
  }

  /** What limits the executor's block memory, in bytes. */
  public long memoryBytes() {
    return offHeapEnabled ? offHeapBytes : memoryLimitBytes;
  }
}
