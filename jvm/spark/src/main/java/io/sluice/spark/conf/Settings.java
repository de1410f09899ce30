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
 * @param guessOrder whether the order of an RDD's keys may be guessed where the job's comparator then proves it
 * @param sqlExchange the application's default of {@code spark.sluice.sql.exchange}; a session may differ
 * @param sqlCleanup the application's default of {@code spark.sluice.sql.cleanup}; a session may differ where it is
 *     {@link SqlCleanup#isPossible possible}
 * @param mode the preset, for messages: the effective values are {@code codec}, {@code store} and {@code transport}
 * @param gpu whether and how map output is encoded on a GPU
 * @param nativeLibrary path of the library, or empty for the jar's
 * @param cores of one executor
 * @param blocks the settings of Spark that shape the blocks
 * @param ui what of the application is written to the event log and shown in Spark's UI
 */
public record Settings(
    boolean enabled,
    boolean recordsEnabled,
    boolean guessOrder,
    boolean sqlExchange,
    SqlCleanup sqlCleanup,
    Mode mode,
    Codec codec,
    StoreSettings store,
    TransportSettings transport,
    WriterSettings writer,
    ReaderSettings reader,
    MemorySettings memory,
    GpuSettings gpu,
    String nativeLibrary,
    Cores cores,
    BlockSettings blocks,
    UiSettings ui) {

  /**
   * Resolves the application's settings.
   *
   * @throws SluiceException for an unknown {@code spark.sluice.} key, a value out of range, or axes that do not go
   *     together
   */
  public static Settings from(SparkConf conf) {
    return from(conf, ProcessGrant.ofThisProcess(conf));
  }

  static Settings from(SparkConf conf, ProcessGrant process) {
    rejectUnknownKeys(conf);
    // Only checked here: sessions ask for their values.
    value(conf, SluiceSettings.SQL_SORT);
    value(conf, SluiceSettings.COMET);
    value(conf, SluiceSettings.COLUMNAR);
    Mode mode = value(conf, SluiceSettings.MODE);
    Codec codec = axis(conf, SluiceSettings.CODEC, mode.codec());
    Cores cores = Cores.of(conf, process);
    TransportSettings transport = transport(conf, mode, process, cores);
    long receivedBytes = transport.oneSided() ? transport.receiveLimitBytes() : 0;
    StoreSettings store = store(conf, mode, codec, process, cores, receivedBytes);
    long cacheBytes = store.kind() == Store.CACHE ? store.cacheLimit().bytes() : 0;
    return new Settings(
        value(conf, SluiceSettings.ENABLED),
        value(conf, SluiceSettings.RECORDS_ENABLED),
        value(conf, SluiceSettings.RECORDS_GUESS_ORDER),
        value(conf, SluiceSettings.SQL_EXCHANGE),
        sqlCleanup(conf),
        mode,
        codec,
        store,
        transport,
        writer(conf, cores),
        reader(conf, cores),
        memory(conf, process, cores, cacheBytes + receivedBytes),
        gpu(conf),
        value(conf, SluiceSettings.NATIVE_LIBRARY),
        cores,
        BlockSettings.from(conf, value(conf, SluiceSettings.CODEC_LEVEL)),
        ui(conf));
  }

  private static SqlCleanup sqlCleanup(SparkConf conf) {
    SqlCleanup wanted = value(conf, SluiceSettings.SQL_CLEANUP);
    return SqlCleanup.isPossible(conf) ? wanted : SqlCleanup.OFF;
  }

  private static WriterSettings writer(SparkConf conf, Cores cores) {
    return new WriterSettings(
        PoolThreads.of(value(conf, SluiceSettings.WRITER_THREADS), cores),
        value(conf, SluiceSettings.WRITER_PAGE_BYTES),
        value(conf, SluiceSettings.WRITER_BATCH_BYTES));
  }

  private static ReaderSettings reader(SparkConf conf, Cores cores) {
    return new ReaderSettings(
        PoolThreads.of(value(conf, SluiceSettings.READER_THREADS), cores),
        value(conf, SluiceSettings.READER_MAX_BYTES_IN_FLIGHT));
  }

  private static MemorySettings memory(SparkConf conf, ProcessGrant process, Cores cores, long otherBytes) {
    return new MemorySettings(
        MemoryLimit.of(conf, process, cores, value(conf, SluiceSettings.MEMORY_LIMIT), otherBytes),
        value(conf, SluiceSettings.MEMORY_WAIT_TIMEOUT) * 1_000_000L,
        value(conf, SluiceSettings.MEMORY_FAIL_ON_LEAK),
        conf.getBoolean("spark.memory.offHeap.enabled", false),
        MemoryLimit.offHeapBytes(conf));
  }

  private static GpuSettings gpu(SparkConf conf) {
    OptionalLong memoryLimit = value(conf, SluiceSettings.GPU_MEMORY_LIMIT);
    long cacheLimit = value(conf, SluiceSettings.GPU_CACHE_LIMIT);
    if (memoryLimit.isPresent() && cacheLimit > memoryLimit.getAsLong()) {
      throw new SluiceException("spark.sluice.gpu.cache.limit is " + cacheLimit + " bytes, more than "
          + "spark.sluice.gpu.memory.limit, of which it is a part (" + memoryLimit.getAsLong() + " bytes); raise the "
          + "latter, or leave it at auto");
    }
    // With the old protocol attempts of a map task share one id, and a copy could be that of another attempt.
    boolean copiesHaveNames = !conf.getBoolean("spark.shuffle.useOldFetchProtocol", false);
    return new GpuSettings(
        value(conf, SluiceSettings.GPU),
        memoryLimit,
        copiesHaveNames ? cacheLimit : 0,
        value(conf, SluiceSettings.GPU_PINNED_LIMIT),
        value(conf, SluiceSettings.GPU_PAGES_LIMIT),
        value(conf, SluiceSettings.GPU_MIN_BATCH_BYTES),
        value(conf, SluiceSettings.GPU_TIMEOUT));
  }

  private static UiSettings ui(SparkConf conf) {
    boolean enabled = value(conf, SluiceSettings.UI_ENABLED);
    boolean tab = enabled && conf.getBoolean("spark.ui.enabled", true);
    return new UiSettings(tab || enabled && conf.getBoolean("spark.eventLog.enabled", false), tab,
        (int) (long) value(conf, SluiceSettings.UI_RETAINED_SHUFFLES));
  }

  private static StoreSettings store(
      SparkConf conf, Mode mode, Codec codec, ProcessGrant process, Cores cores, long receivedBytes) {
    Store store = axis(conf, SluiceSettings.STORE, mode.store());
    if (store == Store.CACHE && codec == Codec.SPARK) {
      throw new SluiceException("spark.sluice.store = cache needs spark.sluice.codec = sluice: Spark's own writers"
          + " write files. Set spark.sluice.store=files, or leave spark.sluice.codec out (spark.sluice.mode is "
          + mode + ")");
    }
    return new StoreSettings(store, CacheLimit.of(conf, process, cores, value(conf, SluiceSettings.CACHE_HOST_LIMIT),
        value(conf, SluiceSettings.MEMORY_LIMIT), receivedBytes));
  }

  /**
   * The limit of map outputs in memory that this process can have where {@code bytes} are wanted, in place of the
   * setting.
   */
  public static CacheLimit cacheLimit(SparkConf conf, long bytes) {
    ProcessGrant process = ProcessGrant.ofThisProcess(conf);
    Cores cores = Cores.of(conf, process);
    TransportSettings transport = transport(conf, value(conf, SluiceSettings.MODE), process, cores);
    return CacheLimit.of(conf, process, cores, bytes, value(conf, SluiceSettings.MEMORY_LIMIT),
        transport.oneSided() ? transport.receiveLimitBytes() : 0);
  }

  private static TransportSettings transport(SparkConf conf, Mode mode, ProcessGrant process, Cores cores) {
    long heartbeat = value(conf, SluiceSettings.TRANSPORT_HEARTBEAT_INTERVAL);
    long heartbeatTimeout = value(conf, SluiceSettings.TRANSPORT_HEARTBEAT_TIMEOUT);
    if (heartbeatTimeout < 2 * heartbeat) {
      throw new SluiceException(SluiceSettings.TRANSPORT_HEARTBEAT_TIMEOUT.key() + " is " + heartbeatTimeout
          + " ms, less than twice " + SluiceSettings.TRANSPORT_HEARTBEAT_INTERVAL.key() + ", which is " + heartbeat
          + " ms: executors would be taken for gone between two heartbeats. Raise the one or lower the other");
    }
    return new TransportSettings(
        axis(conf, SluiceSettings.TRANSPORT, mode.transport()),
        value(conf, SluiceSettings.UCX_LIBRARY),
        value(conf, SluiceSettings.TRANSPORT_TIMEOUT),
        value(conf, SluiceSettings.TRANSPORT_RETRY_DELAY) * 1_000_000L,
        value(conf, SluiceSettings.TRANSPORT_EARLY_START),
        heartbeat,
        heartbeatTimeout,
        value(conf, SluiceSettings.TRANSPORT_MAX_CONNECTIONS),
        value(conf, SluiceSettings.TRANSPORT_MAX_MAPPED_BYTES),
        value(conf, SluiceSettings.TRANSPORT_MAX_MAPPED_REGIONS),
        value(conf, SluiceSettings.UCX_ALLOW_UNAUTHENTICATED_TCP),
        value(conf, SluiceSettings.TRANSPORT_MAX_RECEIVE_BYTES)
            .orElseGet(() -> defaultReceiveLimit(conf, process, cores)));
  }

  /**
   * Spark's fetch iterators (two in a task that joins) bound what arrives too, but by the sizes that map tasks report:
   * these are a little too small for every block, and with more than 2,000 partitions they are averages, while the
   * blocks of one partition may be many times as large. In a container the limit is also a share of the container's
   * memory beyond the heap.
   */
  private static long defaultReceiveLimit(SparkConf conf, ProcessGrant process, Cores cores) {
    long maxInFlight = conf.getSizeAsMb("spark.reducer.maxSizeInFlight", "48m") << 20;
    long wanted = cores.tasks() * 2L * (maxInFlight / 2 * 3);
    return ContainerGrant.of(conf, process)
        .map(grant -> Math.min(wanted, MemoryLimit.share(grant.bytes(), cores))).orElse(wanted);
  }

  /** The user's value, else the mode's. */
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
      List<String> named = unknown.stream().map(key -> key + IgnoredSettings.suggestion(key)).toList();
      throw new SluiceException(
          "unknown settings " + named + ": correct or remove them. The settings of this version are " + known);
    }
  }
}
