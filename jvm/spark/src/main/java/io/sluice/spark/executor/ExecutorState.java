package io.sluice.spark.executor;

import io.sluice.spark.concurrent.WorkerPool;
import io.sluice.spark.conf.Settings;
import io.sluice.spark.decode.ReadAheadLimit;
import io.sluice.spark.memory.ExecutorMemory;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.store.OutputCache;
import io.sluice.spark.transport.TransportService;
import java.util.Optional;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.storage.BlockManager;

/**
 * What one executor process has once for all its tasks: settings, block memory, counters, thread pools, transport and
 * cache. The shuffle manager owns it and passes it to readers and writers. All methods may be called from any thread.
 */
public final class ExecutorState implements AutoCloseable {
  private final Settings settings;
  private final Counters counters;
  private final ExecutorMemory memory;
  private final WorkerPool encoders;
  private final WorkerPool decoders;
  private final ReadAheadLimit readAheadBytes;
  private final ReportedBytes reportedBytes = new ReportedBytes();
  private final Optional<TransportService> transport;
  private final Optional<OutputCache> cache;

  /**
   * @param transport taken over; empty when blocks travel by Spark's block transfer
   * @param cache taken over; empty when map output goes to files
   */
  public ExecutorState(
      Settings settings, Counters counters, Optional<TransportService> transport, Optional<OutputCache> cache) {
    this.settings = settings;
    this.counters = counters;
    this.memory = new ExecutorMemory(settings.memory(), settings.cores().tasks(), counters);
    this.encoders = new WorkerPool("sluice-encoder", settings.writer().threads());
    this.decoders = new WorkerPool("sluice-decoder", settings.reader().threads());
    this.transport = transport;
    this.cache = cache;
    this.readAheadBytes = new ReadAheadLimit(settings.reader().maxBytesInFlight());
  }

  public Settings settings() {
    return settings;
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

  /** What reads blocks of other executors one-sidedly, if anything does. */
  public Optional<TransportService> transport() {
    return transport;
  }

  /** Where map outputs are kept in memory, if they are. */
  public Optional<OutputCache> cache() {
    return cache;
  }

  /** What reduce tasks fetch blocks with: Spark's client, with the transport in front of it where there is one. */
  public BlockStoreClient blockClient(BlockManager blockManager) {
    BlockStoreClient sparks = blockManager.blockStoreClient();
    return transport.map(service -> service.client(sparks)).orElse(sparks);
  }

  /** Refuses new work for the pools, where what runs is finished, and ends transport and cache. Twice is fine. */
  @Override
  public void close() {
    transport.ifPresent(TransportService::close);
    cache.ifPresent(OutputCache::close);
    encoders.close();
    decoders.close();
  }
}
