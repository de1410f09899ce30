package io.sluice.spark.executor;

import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.TransportStatistics;
import io.sluice.spark.metrics.Counter.Unit;
import io.sluice.spark.store.OutputCache;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The gauges of an executor: amounts at the moment of the reading. The plugin registers each as a Spark metric under
 * its {@link #id}. All are 0 before the executor's first shuffle, and NaN while they cannot be read. Amounts since the
 * start of the process are {@link io.sluice.spark.metrics.Counter}s.
 */
public enum ExecutorGauge {
  MEMORY_LIMIT("memory.limitBytes", Unit.BYTES, "the limit of block memory, unless Spark's off-heap memory is used",
      state -> state.memory().budget().limitBytes()),
  MEMORY_USED("memory.usedBytes", Unit.BYTES, "block memory that tasks hold, of that limit",
      state -> state.memory().budget().usedBytes()),
  MEMORY_PEAK("memory.peakBytes", Unit.BYTES, "the peak of block memory that tasks held together",
      state -> state.memory().budget().peakBytes()),
  ARENA_LEASED("memory.arenaLeasedBytes", Unit.BYTES, "native memory on lease, blocks received one-sidedly included",
      state -> state.memory().arena().leasedBytes()),
  ARENA_RESERVED("memory.arenaReservedBytes", Unit.BYTES,
      "address space that the native arenas have mapped; free parts of it are given back to the system after a while",
      state -> state.memory().arena().reservedBytes()),
  ARENA_TOUCHED("memory.arenaTouchedBytes", Unit.BYTES, "bytes of that address space that may be resident, at most",
      state -> state.memory().arena().touchedBytes()),
  SCRATCH("memory.scratchBytes", Unit.BYTES, "native heap that encoders and decoders hold between frames",
      state -> state.memory().arena().scratchBytes()),
  READ_AHEAD("read.aheadBytes", Unit.BYTES, "decoded or being decoded ahead of the tasks that read",
      state -> state.readAheadBytes().usedBytes()),
  CACHE_USED("cache.usedBytes", Unit.BYTES, "map output in memory",
      state -> state.cache().map(OutputCache::usedBytes).orElse(0L)),
  MAPPED_REGIONS("transport.mappedRegions", Unit.COUNT, "parts of map outputs that are mapped for peers to read",
      transport(TransportStatistics::mappedRegions)),
  MAPPED_BYTES("transport.mappedBytes", Unit.BYTES, "bytes of those", transport(TransportStatistics::mappedBytes)),
  PINNED_BYTES("transport.pinnedBytes", Unit.BYTES, "of those, bytes that a peer may be reading",
      transport(TransportStatistics::pinnedBytes)),
  GETS_IN_FLIGHT("transport.getsInFlight", Unit.COUNT, "one-sided reads under way",
      transport(TransportStatistics::getsInFlight)),
  RECEIVED("transport.receivedBytes", Unit.BYTES, "blocks received one-sidedly that tasks have not released",
      state -> state.transport().map(service -> NativeCore.receiveArenaStatistics().leasedBytes()).orElse(0L)),
  CONNECTIONS("transport.connections", Unit.COUNT, "connections for one-sided reads that are open",
      transport(TransportStatistics::connections)),
  DISK_JOBS("transport.diskJobs", Unit.COUNT, "requests of peers that wait for a disk",
      transport(TransportStatistics::diskJobs)),
  LONGEST_TURN("transport.longestTurnNanos", Unit.NANOS,
      "the longest time that the transport's thread was busy at once",
      transport(TransportStatistics::longestTurnNanos)),
  MALFORMED_MESSAGES("transport.malformedMessages", Unit.COUNT, "messages of peers that could not be understood",
      transport(TransportStatistics::malformedMessages)),
  FAILED_REGISTRATIONS("transport.failedRegistrations", Unit.COUNT, "attempts to register memory for RDMA that failed",
      transport(TransportStatistics::failedRegistrations));

  private static final Logger LOG = LoggerFactory.getLogger(ExecutorGauge.class);

  private final String id;
  private final Unit unit;
  private final String label;
  private final ToLongFunction<ExecutorState> value;
  private final AtomicBoolean failureLogged = new AtomicBoolean();

  ExecutorGauge(String id, Unit unit, String label, ToLongFunction<ExecutorState> value) {
    this.id = id;
    this.unit = unit;
    this.label = label;
    this.value = value;
  }

  private static ToLongFunction<ExecutorState> transport(ToLongFunction<TransportStatistics> figure) {
    return state -> state.transport().map(service -> figure.applyAsLong(service.statistics())).orElse(0L);
  }

  /** The name of the Spark metric. */
  public String id() {
    return id;
  }

  public Unit unit() {
    return unit;
  }

  /** One line for people. */
  public String label() {
    return label;
  }

  /** The value now, or NaN if it cannot be read; the first failure of each gauge is logged. */
  public Number of(ExecutorState state) {
    return valueOrNaN(() -> value.applyAsLong(state));
  }

  Number valueOrNaN(LongSupplier source) {
    try {
      return source.getAsLong();
    } catch (RuntimeException e) {
      if (failureLogged.compareAndSet(false, true)) {
        LOG.warn("The metric {} cannot be read and is NaN; later failures of it are not logged", id, e);
      }
      return Double.NaN;
    }
  }
}
