package io.sluice.spark.executor;

import io.sluice.nativebridge.Arena;
import io.sluice.spark.compat.FetchSettings;
import io.sluice.spark.concurrent.WorkerPool;
import io.sluice.spark.conf.Settings;
import io.sluice.spark.decode.ReadAheadLimit;
import io.sluice.spark.fetch.ArrivalTrackingClient;
import io.sluice.spark.memory.ExecutorMemory;
import io.sluice.spark.memory.JavaArena;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.record.ShuffleSerializers;
import io.sluice.spark.seal.ApplicationKey;
import io.sluice.spark.store.OutputCache;
import io.sluice.spark.transport.TransportService;
import java.util.Optional;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.storage.BlockManager;

/**
 * The objects that exist once per executor process and that its tasks share: settings, block memory, counters, thread
 * pools, transport and cache. The shuffle manager owns it and passes it to readers and writers. All methods may be
 * called from any thread.
 */
public final class ExecutorState implements AutoCloseable {
  private final boolean nativeCore;
  private final Settings settings;
  private final FetchSettings fetchSettings;
  private final Counters counters;
  private final ExecutorMemory memory;
  private final WorkerPool encoders;
  private final WorkerPool decoders;
  private final ReadAheadLimit readAheadBytes;
  private final ReportedBytes reportedBytes = new ReportedBytes();
  private final OrderGuesses orderGuesses;
  private final ShuffleSerializers shuffleSerializers = new ShuffleSerializers();
  private final Optional<TransportService> transport;
  private final Optional<OutputCache> cache;
  private final Optional<ApplicationKey> frameKey;
  /** Made for the first reader. */
  private ArrivalTrackingClient blockClient;
  /** That {@link #blockClient} passes requests on to. */
  private BlockStoreClient sparksClient;

  /**
   * @param nativeCore whether the native library may be called in this process; otherwise Java does its work
   * @param fetchSettings Spark's, read once and not by every reduce task
   * @param transport taken over; empty when blocks travel by Spark's block transfer
   * @param cache taken over; empty when map output goes to files
   * @param frameKey empty when frames are not sealed
   */
  public ExecutorState(boolean nativeCore, Settings settings, FetchSettings fetchSettings, Counters counters,
      Optional<TransportService> transport, Optional<OutputCache> cache, Optional<ApplicationKey> frameKey) {
    this.nativeCore = nativeCore;
    this.settings = settings;
    this.fetchSettings = fetchSettings;
    this.counters = counters;
    this.memory = new ExecutorMemory(
        nativeCore ? Arena.NATIVE : new JavaArena(), settings.memory(), settings.cores().tasks(), counters);
    this.encoders = new WorkerPool("sluice-encoder", settings.writer().threads());
    this.decoders = new WorkerPool("sluice-decoder", settings.reader().threads());
    this.transport = transport;
    this.cache = cache;
    this.frameKey = frameKey;
    this.orderGuesses = new OrderGuesses(settings.guessOrder());
    this.readAheadBytes = new ReadAheadLimit(settings.reader().maxBytesInFlight());
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

  /** The bound on what readers have decoded ahead of their consumers. */
  public ReadAheadLimit readAheadBytes() {
    return readAheadBytes;
  }

  /** How the sizes that map tasks of SQL rows report compare with their bytes. */
  public ReportedBytes reportedBytes() {
    return reportedBytes;
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

  /** The client with which reduce tasks fetch blocks: Spark's, wrapped by the transport's if there is one. */
  public synchronized ArrivalTrackingClient blockClient(BlockManager blockManager) {
    BlockStoreClient sparks = blockManager.blockStoreClient();
    if (blockClient == null || sparks != sparksClient) {
      sparksClient = sparks;
      blockClient = new ArrivalTrackingClient(transport.map(service -> service.client(sparks)).orElse(sparks));
    }
    return blockClient;
  }

  /** Makes the pools refuse new tasks, lets running ones finish, and closes transport and cache. Twice is fine. */
  @Override
  public void close() {
    transport.ifPresent(TransportService::close);
    cache.ifPresent(OutputCache::close);
    encoders.close();
    decoders.close();
    memory.close();
  }
}
