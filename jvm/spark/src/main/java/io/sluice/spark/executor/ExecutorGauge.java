package io.sluice.spark.executor;

import io.sluice.nativebridge.ArenaFigures;
import io.sluice.nativebridge.TransportStatistics;
import io.sluice.spark.fetch.FetchLatencies;
import io.sluice.spark.gpu.ExecutorGpu;
import io.sluice.spark.metrics.Counter.Unit;
import io.sluice.spark.metrics.LatencyHistogram;
import io.sluice.spark.store.OutputCache;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The gauges of an executor: amounts at the moment of the reading. The plugin registers each as a Spark metric under
 * its {@link #id}. All are 0 before the executor's first shuffle, and NaN while they cannot be read. Those of the arena
 * and of the transport come by one native call each, which serves all that are read within a moment. What Java counts
 * since the start of the process is in {@link io.sluice.spark.metrics.Counter}.
 */
public enum ExecutorGauge {
  MEMORY_LIMIT("memory.limitBytes", Unit.BYTES, "the limit of block memory, unless Spark's off-heap memory is used",
      state -> state.memory().budget().limitBytes()),
  MEMORY_USED("memory.usedBytes", Unit.BYTES, "block memory that tasks hold, of that limit",
      state -> state.memory().budget().usedBytes()),
  MEMORY_PEAK("memory.peakBytes", Unit.BYTES, "the peak of block memory that tasks held together",
      state -> state.memory().budget().peakBytes()),
  ARENA_LEASED("memory.arenaLeasedBytes", Unit.BYTES, "native memory on lease, blocks received one-sidedly included",
      arena(ArenaFigures::leasedBytes)),
  ARENA_PEAK("memory.arenaPeakBytes", Unit.BYTES,
      "the most native memory on lease at once, blocks received one-sidedly not included",
      arena(ArenaFigures::peakLeasedBytes)),
  ARENA_RESERVED("memory.arenaReservedBytes", Unit.BYTES,
      "address space that the native arenas have mapped; free parts of it are given back to the system after a while",
      arena(ArenaFigures::reservedBytes)),
  ARENA_TOUCHED("memory.arenaTouchedBytes", Unit.BYTES, "bytes of that address space that may be resident, at most",
      arena(ArenaFigures::touchedBytes)),
  ARENA_FREE("memory.arenaFreeBytes", Unit.BYTES, "bytes of that address space that are kept for the next lease",
      arena(ArenaFigures::freeBytes)),
  ARENA_PURGED("memory.arenaPurgedBytes", Unit.BYTES,
      "bytes given back to the system, since the process started, because nothing used them for a while",
      arena(ArenaFigures::purgedBytes)),
  ARENA_REFUSED_BY_LIMIT("memory.arenaRefusedByLimit", Unit.COUNT,
      "leases refused since the process started because they would have exceeded the limit",
      arena(ArenaFigures::refusedByLimit)),
  ARENA_REFUSED_BY_SYSTEM("memory.arenaRefusedBySystem", Unit.COUNT,
      "leases refused since the process started because the system gave no memory",
      arena(ArenaFigures::refusedBySystem)),
  SCRATCH("memory.scratchBytes", Unit.BYTES, "native heap that encoders and decoders hold between frames",
      arena(ArenaFigures::scratchBytes)),
  ENCODERS_BUSY("write.encodersBusy", Unit.COUNT, "encoder threads at work", state -> state.encoders().busy()),
  DECODERS_BUSY("read.decodersBusy", Unit.COUNT, "decoder threads at work", state -> state.decoders().busy()),
  READ_AHEAD("read.aheadBytes", Unit.BYTES, "decoded or being decoded ahead of the tasks that read",
      state -> state.readAheadBytes().usedBytes()),
  FETCHES("read.fetches", Unit.COUNT,
      "blocks that other executors, or the external shuffle service, have delivered since the process started, to "
          + "readers of Spark's format too; the latency of a block is the time from the request for it until it is "
          + "there, by whatever way",
      fetches(LatencyHistogram::count)),
  FETCH_P50("read.fetchP50Nanos", Unit.NANOS,
      "half of these blocks had no longer latency; percentiles are up to a third too long",
      fetches(blocks -> blocks.percentile(0.5))),
  FETCH_P95("read.fetchP95Nanos", Unit.NANOS, "95 % of these blocks had no longer latency",
      fetches(blocks -> blocks.percentile(ExecutorState.SLOW))),
  FETCH_P99("read.fetchP99Nanos", Unit.NANOS, "99 % of these blocks had no longer latency",
      fetches(blocks -> blocks.percentile(0.99))),
  FETCH_LONGEST("read.fetchLongestNanos", Unit.NANOS, "the longest latency of a block",
      fetches(LatencyHistogram::longest)),
  FETCHES_OVER_10_MILLIS("read.fetchesOver10Millis", Unit.COUNT, "blocks with a latency of more than 10 ms",
      longerThanMillis(10)),
  FETCHES_OVER_100_MILLIS("read.fetchesOver100Millis", Unit.COUNT, "blocks with a latency of more than 100 ms",
      longerThanMillis(100)),
  FETCHES_OVER_1_SECOND("read.fetchesOver1Second", Unit.COUNT, "blocks with a latency of more than a second",
      longerThanMillis(1_000)),
  FETCHES_OVER_10_SECONDS("read.fetchesOver10Seconds", Unit.COUNT, "blocks with a latency of more than 10 s",
      longerThanMillis(10_000)),
  SLOWEST_PEER("read.slowestPeerP95Nanos", Unit.NANOS,
      "the 95th percentile of the latencies of the executor for which it is longest; the log has its name when the "
          + "executor ends",
      state -> state.fetchLatencies().slowest(1, ExecutorState.SLOW).stream()
          .mapToLong(FetchLatencies.Peer::slowNanos).findFirst().orElse(0)),
  CACHE_USED("cache.usedBytes", Unit.BYTES, "map output in memory",
      state -> state.cache().map(OutputCache::usedBytes).orElse(0L)),
  GPU_CACHE_USED("gpu.cacheUsedBytes", Unit.BYTES, "copies of map outputs in the GPU's memory",
      state -> state.gpu().map(ExecutorGpu::cacheBytes).orElse(0L)),
  PUBLISHED_OUTPUTS("transport.publishedOutputs", Unit.COUNT,
      "map outputs that other executors can read one-sidedly now", transport(TransportStatistics::publishedOutputs)),
  MAPPED_REGIONS("transport.mappedRegions", Unit.COUNT, "parts of map outputs that are mapped for peers to read",
      transport(TransportStatistics::mappedRegions)),
  MAPPED_BYTES("transport.mappedBytes", Unit.BYTES, "bytes of those", transport(TransportStatistics::mappedBytes)),
  PEAK_MAPPED_BYTES("transport.peakMappedBytes", Unit.BYTES, "the most bytes that were mapped at once",
      transport(TransportStatistics::peakMappedBytes)),
  PINNED_REGIONS("transport.pinnedRegions", Unit.COUNT,
      "parts of map outputs that a peer may be reading, or that are being mapped",
      transport(TransportStatistics::pinnedRegions)),
  PINNED_BYTES("transport.pinnedBytes", Unit.BYTES, "bytes of those",
      transport(TransportStatistics::pinnedBytes)),
  GETS_IN_FLIGHT("transport.getsInFlight", Unit.COUNT, "one-sided reads under way",
      transport(TransportStatistics::getsInFlight)),
  RECEIVED("transport.receivedBytes", Unit.BYTES, "blocks received one-sidedly that tasks have not released",
      arena(ArenaFigures::receivedBytes)),
  QUEUED_COMMANDS("transport.queuedCommands", Unit.COUNT,
      "requests of this executor and its peers that the transport's thread has not taken up yet, or puts off",
      transport(TransportStatistics::queuedCommands)),
  QUEUED_COMPLETIONS("transport.queuedCompletions", Unit.COUNT,
      "blocks that have arrived or failed and that no thread has taken yet",
      transport(TransportStatistics::queuedCompletions)),
  OPEN_QUESTIONS("transport.openQuestions", Unit.COUNT,
      "questions of peers for the places of blocks that were not answered, or whose answers are in use",
      transport(TransportStatistics::openQuestions)),
  CONNECTIONS("transport.connections", Unit.COUNT, "connections for one-sided reads that are open",
      transport(TransportStatistics::connections)),
  CONNECTIONS_OPENED("transport.connectionsOpened", Unit.COUNT, "connections opened since the transport's start",
      transport(TransportStatistics::connectionsOpened)),
  CONNECTIONS_CLOSED_IDLE("transport.connectionsClosedIdle", Unit.COUNT,
      "of those, closed because nothing passed over them, or to make room for others",
      transport(TransportStatistics::connectionsClosedIdle)),
  CONNECTIONS_LOST_IDLE("transport.connectionsLostIdle", Unit.COUNT,
      "connections that were lost while nothing, or only a question of a moment ago, was under way: the next fetch "
          + "opens another one",
      transport(TransportStatistics::connectionsLostIdle)),
  CONNECTIONS_REFUSED("transport.connectionsRefused", Unit.COUNT, "times that there was no room for another connection",
      transport(TransportStatistics::connectionsRefused)),
  RECEIVE_WAITS("transport.receiveWaits", Unit.COUNT,
      "times that blocks of an executor had to wait for memory to be received into",
      transport(TransportStatistics::receiveWaits)),
  RECEIVE_WAIT_TIME("transport.receiveWaitNanos", Unit.NANOS,
      "how long they have waited, all together, those that wait now included",
      transport(TransportStatistics::receiveWaitNanos)),
  RECEIVE_GIVEN_UP("transport.receiveGivenUp", Unit.COUNT,
      "blocks left to Netty because there was no memory for them in time",
      transport(TransportStatistics::receiveGivenUp)),
  DEVICES_READABLE("transport.devicesReadable", Unit.COUNT,
      "connections over which a sample in the memory of the executor's GPU came as it was",
      transport(TransportStatistics::devicesReadable)),
  DEVICES_UNREADABLE("transport.devicesUnreadable", Unit.COUNT,
      "connections over which a sample in the memory of the executor's GPU did not come as it was, or not at all",
      transport(TransportStatistics::devicesUnreadable)),
  TOLD_BYTES("transport.toldBytes", Unit.BYTES,
      "what is kept of the answers of peers: keys of their memory, and where blocks are",
      transport(TransportStatistics::toldBytes)),
  TOLD_TOO_MUCH("transport.toldTooMuch", Unit.COUNT,
      "connections ended because a peer told of more keys or ranges than are kept",
      transport(TransportStatistics::toldTooMuch)),
  DISK_JOBS("transport.diskJobs", Unit.COUNT, "requests of peers that wait for a disk",
      transport(TransportStatistics::diskJobs)),
  REFUSED_MAPPED("transport.refusedMapped", Unit.COUNT,
      "blocks refused to peers because a limit of mapped map outputs was reached, or they could not be registered",
      transport(TransportStatistics::refusedMapped)),
  REFUSED_QUESTIONS("transport.refusedQuestions", Unit.COUNT,
      "blocks refused to peers that had too many questions open", transport(TransportStatistics::refusedQuestions)),
  REFUSED_DISK("transport.refusedDisk", Unit.COUNT,
      "blocks refused to peers because too much was to be read from disks",
      transport(TransportStatistics::refusedDisk)),
  DISK_TIMEOUTS("transport.diskTimeouts", Unit.COUNT,
      "blocks refused to peers because a disk did not answer in time", transport(TransportStatistics::diskTimeouts)),
  LONGEST_TURN("transport.longestTurnNanos", Unit.NANOS,
      "the longest time that the transport's thread was busy at once",
      transport(TransportStatistics::longestTurnNanos)),
  MALFORMED_MESSAGES("transport.malformedMessages", Unit.COUNT, "messages of peers that could not be understood",
      transport(TransportStatistics::malformedMessages)),
  UNPROVEN_MESSAGES("transport.unprovenMessages", Unit.COUNT,
      "messages without the proof or tag that they need: of processes that do not know the application's secret, and "
          + "late ones of connections that were closed",
      transport(TransportStatistics::unprovenMessages)),
  FAILED_REGISTRATIONS("transport.failedRegistrations", Unit.COUNT, "parts of files that could not be registered",
      transport(TransportStatistics::failedRegistrations)),
  COPIED_REGIONS("transport.copiedRegions", Unit.COUNT,
      "parts of map outputs that were registered for RDMA as copies in memory, because the kernel does not pin the "
          + "file system's pages",
      transport(TransportStatistics::copiedRegions)),
  COPIED_BYTES("transport.copiedBytes", Unit.BYTES, "bytes of those that are mapped now",
      transport(TransportStatistics::copiedBytes)),
  COPIED_FILESYSTEMS("transport.copiedFilesystems", Unit.COUNT,
      "file systems whose map outputs are registered for RDMA as copies",
      transport(TransportStatistics::copiedFilesystems)),
  REFUSED_FILESYSTEMS("transport.refusedFilesystems", Unit.COUNT,
      "file systems whose map outputs cannot be registered for RDMA now: their blocks travel by Netty",
      transport(TransportStatistics::refusedFilesystems));

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

  /** A figure of the transport; 0 where there is none. */
  private record OfTransport(ToLongFunction<TransportStatistics> figure) implements ToLongFunction<ExecutorState> {
    @Override
    public long applyAsLong(ExecutorState state) {
      return state.transportStatistics().map(figure::applyAsLong).orElse(0L);
    }
  }

  /** A figure of the arena. */
  private record OfArena(ToLongFunction<ArenaFigures> figure) implements ToLongFunction<ExecutorState> {
    @Override
    public long applyAsLong(ExecutorState state) {
      return figure.applyAsLong(state.arenaFigures());
    }
  }

  private static ToLongFunction<ExecutorState> transport(ToLongFunction<TransportStatistics> figure) {
    return new OfTransport(figure);
  }

  private static ToLongFunction<ExecutorState> arena(ToLongFunction<ArenaFigures> figure) {
    return new OfArena(figure);
  }

  /** Which of these figures it shows; empty for none of them. */
  OptionalLong of(TransportStatistics statistics) {
    return value instanceof OfTransport shown ? OptionalLong.of(shown.figure().applyAsLong(statistics))
        : OptionalLong.empty();
  }

  /** Which of these figures it shows; empty for none of them. */
  OptionalLong of(ArenaFigures figures) {
    return value instanceof OfArena shown ? OptionalLong.of(shown.figure().applyAsLong(figures)) : OptionalLong.empty();
  }

  private static ToLongFunction<ExecutorState> fetches(ToLongFunction<LatencyHistogram> figure) {
    return state -> figure.applyAsLong(state.fetchLatencies().all());
  }

  private static ToLongFunction<ExecutorState> longerThanMillis(long millis) {
    return fetches(blocks -> blocks.longerThan(TimeUnit.MILLISECONDS.toNanos(millis)));
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
