package io.sluice.spark.executor;

import io.sluice.nativebridge.Arena;
import io.sluice.nativebridge.ArenaFigures;
import io.sluice.nativebridge.TransportStatistics;
import io.sluice.spark.compat.FetchSettings;
import io.sluice.spark.concurrent.IdleCores;
import io.sluice.spark.concurrent.WorkerPool;
import io.sluice.spark.conf.PoolThreads;
import io.sluice.spark.conf.Settings;
import io.sluice.spark.decode.ReadAheadLimits;
import io.sluice.spark.fetch.ArrivalTrackingClient;
import io.sluice.spark.fetch.FetchLatencies;
import io.sluice.spark.gpu.ExecutorGpu;
import io.sluice.spark.memory.ExecutorMemory;
import io.sluice.spark.memory.JavaArena;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.LatencyHistogram;
import io.sluice.spark.metrics.RecentReading;
import io.sluice.spark.record.ShuffleSerializers;
import io.sluice.spark.seal.ApplicationKey;
import io.sluice.spark.store.OutputCache;
import io.sluice.spark.transport.TransportService;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.storage.BlockManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The objects that exist once per executor process and that its tasks share: settings, block memory, counters, thread
 * pools, transport, cache and GPU. The shuffle manager owns it and passes it to readers and writers. All methods may be
 * called from any thread.
 */
public final class ExecutorState implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ExecutorState.class);
  /** The percentile by which executors are called slow. */
  static final double SLOW = 0.95;
  private static final int SLOWEST_LOGGED = 3;
  private static final double NANOS_PER_MILLI = 1e6;

  private final boolean nativeCore;
  private final Settings settings;
  private final FetchSettings fetchSettings;
  private final Counters counters;
  private final ExecutorMemory memory;
  private final WorkerPool encoders;
  private final WorkerPool decoders;
  private final ReadAheadLimits readAheadBytes;
  private final FetchLatencies fetchLatencies = new FetchLatencies();
  private final ReportedBytes reportedBytes = new ReportedBytes();
  private final CommitSpeed commitSpeed = new CommitSpeed();
  private final SampledShuffles sampledShuffles = new SampledShuffles();
  private final OrderGuesses orderGuesses;
  private final ShuffleSerializers shuffleSerializers = new ShuffleSerializers();
  private final Optional<TransportService> transport;
  private final Optional<OutputCache> cache;
  private final Optional<ApplicationKey> frameKey;
  private final Optional<ExecutorGpu> gpu;
  private final RecentReading<ArenaFigures> arenaFigures;
  private final Optional<RecentReading<TransportStatistics>> transportStatistics;
  private final AtomicBoolean closed = new AtomicBoolean();
  /** Made for the first reader. */
  private ArrivalTrackingClient blockClient;
  /** That {@link #blockClient} passes requests on to. */
  private BlockStoreClient sparksClient;

  /**
   * @param nativeCore whether the native library may be called in this process; otherwise Java does its work
   * @param idleCores those that pool threads may work on, for both pools together
   * @param fetchSettings Spark's, read once and not by every reduce task
   * @param transport taken over; empty when blocks travel by Spark's block transfer
   * @param cache taken over; empty when map output goes to files
   * @param frameKey empty when frames are not sealed
   * @param gpu taken over; empty when none is to be used
   */
  public ExecutorState(boolean nativeCore, Settings settings, IdleCores idleCores, FetchSettings fetchSettings,
      Counters counters, Optional<TransportService> transport, Optional<OutputCache> cache,
      Optional<ApplicationKey> frameKey, Optional<ExecutorGpu> gpu) {
    this.nativeCore = nativeCore;
    this.settings = settings;
    this.fetchSettings = fetchSettings;
    this.counters = counters;
    this.memory = new ExecutorMemory(
        nativeCore ? Arena.NATIVE : new JavaArena(), settings.memory(), settings.cores().tasks(), counters);
    this.encoders = pool("sluice-encoder", settings.writer().threads(), idleCores);
    this.decoders = pool("sluice-decoder", settings.reader().threads(), idleCores);
    this.transport = transport;
    this.cache = cache;
    this.frameKey = frameKey;
    this.gpu = gpu;
    this.orderGuesses = new OrderGuesses(settings.guessOrder());
    this.readAheadBytes = new ReadAheadLimits(settings.reader().maxBytesInFlight());
    this.arenaFigures = new RecentReading<>(memory.arena()::figures);
    this.transportStatistics = transport.map(service -> new RecentReading<>(service::statistics));
  }

  private static WorkerPool pool(String name, PoolThreads threads, IdleCores idleCores) {
    return new WorkerPool(name, threads.most(), threads.onlyOnIdleCores() ? idleCores : null);
  }

  /** Whether the native library writes and reads frames in this process; otherwise package {@code codec} does. */
  public boolean nativeCore() {
    return nativeCore;
  }

  public Settings settings() {
    return settings;
  }

  public FetchSettings fetchSettings() {
    return fetchSettings;
  }

  public Counters counters() {
    return counters;
  }

  /** The block memory of this process and of each of its tasks. */
  public ExecutorMemory memory() {
    return memory;
  }

  /** Threads that encode batches for map tasks. */
  public WorkerPool encoders() {
    return encoders;
  }

  /** Threads that decode frames for reduce tasks. */
  public WorkerPool decoders() {
    return decoders;
  }

  /** The bounds on what the readers of each task have decoded ahead of their consumers. */
  public ReadAheadLimits readAheadBytes() {
    return readAheadBytes;
  }

  /** How long the blocks that this process fetches take. */
  public FetchLatencies fetchLatencies() {
    return fetchLatencies;
  }

  /** What the arena holds, or held a moment ago. */
  ArenaFigures arenaFigures() {
    return arenaFigures.get();
  }

  /** The transport's statistics, as they are or were a moment ago; empty without one-sided reads. */
  Optional<TransportStatistics> transportStatistics() {
    return transportStatistics.map(RecentReading::get);
  }

  /** How fast map outputs are written to files. */
  public CommitSpeed commitSpeed() {
    return commitSpeed;
  }

  /** How the sizes that map tasks of SQL rows report compare with their bytes. */
  public ReportedBytes reportedBytes() {
    return reportedBytes;
  }

  /** Of which shuffles this process has looked at the encodings of a frame. */
  public SampledShuffles sampledShuffles() {
    return sampledShuffles;
  }

  /** Whether orders are guessed. */
  public OrderGuesses orderGuesses() {
    return orderGuesses;
  }

  /** Which shuffles' serializers rows may replace. */
  public ShuffleSerializers shuffleSerializers() {
    return shuffleSerializers;
  }

  /** The transport that reads other executors' blocks one-sidedly; empty without one-sided reads. */
  public Optional<TransportService> transport() {
    return transport;
  }

  /** The cache of map outputs in memory; empty if they are files. */
  public Optional<OutputCache> cache() {
    return cache;
  }

  /** Of which the keys of map outputs are derived; empty when frames are not sealed. */
  public Optional<ApplicationKey> frameKey() {
    return frameKey;
  }

  /** The GPU that encodes batches for map tasks, once it is open; empty when none is to be used. */
  public Optional<ExecutorGpu> gpu() {
    return gpu;
  }

  /** The client with which reduce tasks fetch blocks: Spark's, wrapped by the transport's if there is one. */
  public synchronized ArrivalTrackingClient blockClient(BlockManager blockManager) {
    BlockStoreClient sparks = blockManager.blockStoreClient();
    if (blockClient == null || sparks != sparksClient) {
      sparksClient = sparks;
      blockClient =
          new ArrivalTrackingClient(transport.map(service -> service.client(sparks)).orElse(sparks), fetchLatencies);
    }
    return blockClient;
  }

  /** What SparkRDMA's statistics of its readers say when an executor ends. */
  private void logLatencies() {
    LatencyHistogram blocks = fetchLatencies.all();
    if (blocks.count() == 0) {
      return;
    }
    LOG.info("{} blocks were fetched from other executors; {}. The slowest: {}", blocks.count(), describe(blocks),
        fetchLatencies.slowest(SLOWEST_LOGGED, SLOW).stream()
            .map(peer -> "executor " + peer.executorId() + " (" + peer.blocks().count() + " blocks; "
                + describe(peer.blocks()) + ")")
            .collect(Collectors.joining(", ")));
  }

  private static String describe(LatencyHistogram blocks) {
    return String.format(Locale.ROOT,
        "half within %.2f ms, 95 %% within %.2f ms, 99 %% within %.2f ms, all within %.2f ms",
        blocks.percentile(0.5) / NANOS_PER_MILLI, blocks.percentile(SLOW) / NANOS_PER_MILLI,
        blocks.percentile(0.99) / NANOS_PER_MILLI, blocks.longest() / NANOS_PER_MILLI);
  }

  /** Makes the pools refuse new tasks, lets running ones finish, and closes transport, cache and GPU. Twice is fine. */
  @Override
  public void close() {
    if (!closed.getAndSet(true)) {
      logLatencies();
    }
    transport.ifPresent(TransportService::close);
    cache.ifPresent(OutputCache::close);
    gpu.ifPresent(ExecutorGpu::close);
    encoders.close();
    decoders.close();
    memory.close();
  }
}
