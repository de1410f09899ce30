package io.sluice.spark.executor;

import io.sluice.spark.concurrent.WorkerPool;
import io.sluice.spark.conf.Settings;
import io.sluice.spark.decode.ReadAheadLimit;
import io.sluice.spark.memory.MemoryBudget;
import io.sluice.spark.memory.TaskMemory;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.store.OutputCache;
import io.sluice.spark.transport.TransportService;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.storage.BlockManager;

/**
 * What one executor process has once for all its tasks: settings, memory budget, counters, thread pools, transport,
 * cache.
 * The shuffle manager owns it and passes it to readers and writers. All methods may be called from any thread.
 */
public final class ExecutorState implements AutoCloseable {
  private final Settings settings;
  private final Counters counters;
  private final MemoryBudget budget;
  private final WorkerPool encoders;
  private final WorkerPool decoders;
  private final ReadAheadLimit readAheadBytes;
  private final Optional<TransportService> transport;
  private final Optional<OutputCache> cache;
  private final ConcurrentMap<Long, TaskMemory> tasks = new ConcurrentHashMap<>();

  /**
   * @param transport taken over; empty when blocks travel by Spark's block transfer
   * @param cache taken over; empty when map output goes to files
   */
  public ExecutorState(
      Settings settings, Counters counters, Optional<TransportService> transport, Optional<OutputCache> cache) {
    this.settings = settings;
    this.counters = counters;
    this.budget = new MemoryBudget(settings.memoryLimitBytes(), settings.cores().task());
    this.encoders = new WorkerPool("sluice-encoder", settings.writerThreads());
    this.decoders = new WorkerPool("sluice-decoder", settings.readerThreads());
    this.transport = transport;
    this.cache = cache;
    this.readAheadBytes = new ReadAheadLimit(settings.readerMaxBytesInFlight());
  }

  public Settings settings() {
    return settings;
  }

  public Counters counters() {
    return counters;
  }

  /** The executor-wide account; not used when Spark's off-heap memory is. */
  public MemoryBudget budget() {
    return budget;
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

  /** The account of a task attempt: the one that is known, else {@code fresh}, which is known from now on. */
  public TaskMemory rememberTask(long taskAttemptId, TaskMemory fresh) {
    TaskMemory known = tasks.putIfAbsent(taskAttemptId, fresh);
    return known == null ? fresh : known;
  }

  /** Forgets a task that has ended. */
  public void forgetTask(long taskAttemptId) {
    tasks.remove(taskAttemptId);
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
