package io.sluice.spark;

import io.sluice.nativebridge.MemoryFile;
import io.sluice.nativebridge.NativeLibrary;
import io.sluice.spark.cleanup.OutputRemovals;
import io.sluice.spark.cleanup.SqlShuffles;
import io.sluice.spark.cleanup.TrackedWriter;
import io.sluice.spark.cleanup.WrittenOutputs;
import io.sluice.spark.compat.SkippedMigration;
import io.sluice.spark.compat.FetchSettings;
import io.sluice.spark.comet.CometDependency;
import io.sluice.spark.comet.CometReaders;
import io.sluice.spark.comet.CometSession;
import io.sluice.spark.concurrent.IdleCores;
import io.sluice.spark.conf.CacheLimit;
import io.sluice.spark.conf.GpuUse;
import io.sluice.spark.conf.JarVersions;
import io.sluice.spark.conf.LocalMode;
import io.sluice.spark.conf.Settings;
import io.sluice.spark.conf.SluiceSettings;
import io.sluice.spark.conf.SqlCleanup;
import io.sluice.spark.events.ApplicationEvents;
import io.sluice.spark.events.PlanNodes;
import io.sluice.spark.events.ShuffleRegistered;
import io.sluice.spark.exchange.ExchangeInput;
import io.sluice.spark.executor.ExecutorReports;
import io.sluice.spark.executor.ExecutorState;
import io.sluice.spark.executor.ReportPace;
import io.sluice.spark.gpu.AssignedGpu;
import io.sluice.spark.gpu.ExecutorGpu;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ReadCounts;
import io.sluice.spark.metrics.TaskFigures;
import io.sluice.spark.policy.Capabilities;
import io.sluice.spark.policy.CarriedHandle;
import io.sluice.spark.policy.FallbackReason;
import io.sluice.spark.policy.RecordFormat;
import io.sluice.spark.policy.SessionSettings;
import io.sluice.spark.policy.ShufflePolicy;
import io.sluice.spark.policy.SluiceShuffleHandle;
import io.sluice.spark.read.LocalShuffles;
import io.sluice.spark.read.SluiceShuffleReader;
import io.sluice.spark.read.SparkFormatReader;
import io.sluice.spark.seal.ApplicationKey;
import io.sluice.spark.store.LimitRequest;
import io.sluice.spark.store.MemoryFiles;
import io.sluice.spark.store.OutputCache;
import io.sluice.spark.transport.PublishingWriter;
import io.sluice.spark.transport.TransportSecret;
import io.sluice.spark.transport.TransportRules;
import io.sluice.spark.transport.TransportService;
import io.sluice.spark.versions.JarBuild;
import io.sluice.spark.write.BatchSize;
import io.sluice.spark.write.SluiceShuffleWriter;
import java.io.File;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.util.Utils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The shuffle manager that users name in {@code spark.shuffle.manager}.
 *
 * <p>The driver decides per shuffle, in {@link #registerShuffle}: a {@link SluiceShuffleHandle} means frames, a {@link
 * CarriedHandle} that Spark's own sort shuffle writes what Sluice may carry, and one of Spark's handles, with {@code
 * spark.sluice.enabled=false}, that Spark's own sort shuffle does everything. Executors obey the handle, those without
 * a usable native library in Java ({@code docs/decisions/0018}).
 *
 * <p>It <em>is</em> a {@link SortShuffleManager}, for three reasons: everything that is not ours is exactly
 * Spark's code; the block resolver is Spark's, so the External Shuffle Service, decommissioning and migration see
 * nothing unusual; and SQL copies every row before the shuffle when the manager is any other class
 * ({@code ShuffleExchangeExec.needToCopyObjectsBeforeShuffle}).
 *
 * <p>Made once per process by Spark; all methods may be called from any thread.
 */
public class SluiceShuffleManager extends SortShuffleManager {
  private static final Logger LOG = LoggerFactory.getLogger(SluiceShuffleManager.class);
  private static final int MOST_LOGGED_SETTINGS = 100;

  private final SparkConf conf;
  private final Settings settings;
  private final ShufflePolicy policy;
  private final MemoryFiles memoryFiles;
  private final NativeLibrary.Status nativeLibrary;
  private final boolean isDriver;
  private final Capabilities capabilities;
  /** Whether the plugin is there, which learns of the ends of executions, and removals can be right. */
  private final boolean removesSqlShuffles;
  private final Counters counters = new Counters();
  private final ApplicationEvents events;
  private final Set<FallbackReason> loggedReasons = EnumSet.noneOf(FallbackReason.class);
  private final Set<String> loggedSettings = new HashSet<>();
  private final Map<FallbackReason, LongAdder> fallbacks = new EnumMap<>(FallbackReason.class);
  private final WrittenOutputs written = new WrittenOutputs();
  private final SqlShuffles sqlShuffles = new SqlShuffles();
  private final OutputRemovals removals = new OutputRemovals();
  private final LocalShuffles localShuffles = new LocalShuffles();
  private final ReportPace reportPace = new ReportPace();
  private final PlanNodes planNodes = new PlanNodes();
  private final IdleCores idleCores;
  private ExecutorState executor;
  /** On the driver: what {@link SluiceCache} has set, for executors to ask. */
  private volatile long wantedCacheLimit = LimitRequest.UNCHANGED;

  /**
   * As Spark instantiates it.
   *
   * @throws SluiceException when a {@code spark.sluice.*} setting is unknown or out of range, and when the class path
   *     has two versions of Sluice
   */
  public SluiceShuffleManager(SparkConf conf, boolean isDriver) {
    this(conf, isDriver, MemoryFile::create);
  }

  /** @param memoryFiles creates the memory files that hold map outputs with {@code spark.sluice.store=cache} */
  protected SluiceShuffleManager(SparkConf conf, boolean isDriver, MemoryFiles memoryFiles) {
    super(conf);
    JarVersions.requireOne();
    this.conf = conf;
    this.memoryFiles = memoryFiles;
    this.settings = Settings.from(conf);
    this.idleCores = new IdleCores(settings.cores().granted(), settings.cores().tasks());
    this.policy = new ShufflePolicy(conf, settings);
    this.events = new ApplicationEvents(settings.ui().events());
    this.isDriver = isDriver;
    this.nativeLibrary = runsTasks() ? loadNativeLibrary() : NativeLibrary.Status.notLoaded(
        "the native library is not looked for in a driver that runs no tasks");
    for (FallbackReason reason : FallbackReason.values()) {
      fallbacks.put(reason, new LongAdder());
    }
    this.capabilities = Capabilities.of(conf, settings, isDriver);
    this.removesSqlShuffles = TransportRules.hasPlugin(conf) && SqlCleanup.isPossible(conf);
    if (runsTasks() && !nativeLibrary.available()) {
      countWithoutLibrary();
    }
  }

  /** Whether executors read the blocks of Spark's writers one-sidedly, where they can; alike in all processes. */
  private boolean readsSparksFormat() {
    return capabilities.oneSided() && !(isDriver && runsTasks())
        && TransportRules.refusalOfSparksFormat(conf).isEmpty();
  }

  /** A driver does in local mode. */
  private boolean runsTasks() {
    return !isDriver || LocalMode.of(conf);
  }

  private NativeLibrary.Status loadNativeLibrary() {
    NativeLibrary.Status status = NativeLibrary.load(settings.nativeLibrary());
    if (status.available()) {
      LOG.info("Sluice native core: {}", status.detail());
    } else {
      LOG.warn(
          "This process reads and writes Sluice's shuffles in Java, which is slower and makes larger files, and does "
              + "without one-sided reads and map output in memory, because it cannot use the native library: {}. The "
              + "other executors are not concerned. Run 'java -jar sluice.jar doctor' on host {} to see what to change",
          status.detail(), Utils.localHostName());
    }
    return status;
  }

  /** Counts what this process does without, each as where it fails for another reason. */
  private void countWithoutLibrary() {
    counters.increment(Counter.EXECUTORS_WITHOUT_NATIVE_LIBRARY);
    if (capabilities.oneSided() && !isDriver) {
      counters.increment(Counter.TRANSPORT_UNAVAILABLE);
    }
    if (capabilities.cache()) {
      counters.increment(Counter.CACHE_UNAVAILABLE);
    }
    if (settings.gpu().use() == GpuUse.ON) {
      counters.increment(Counter.GPU_UNAVAILABLE);
    }
  }

  @Override
  public <K, V, C> ShuffleHandle registerShuffle(int shuffleId, ShuffleDependency<K, V, C> dependency) {
    Optional<FallbackReason> reason = policy.fallback(conf, dependency);
    if (CometDependency.isComets(dependency)) {
      reason = withoutFallback(shuffleId, reason);
    }
    logIgnoredSettings();
    if (reason.isPresent()) {
      boolean oneSided = reason.get() != FallbackReason.DISABLED && readsSparksFormat();
      events.shuffleRegistered(shuffleId, dependency,
          oneSided ? ShuffleRegistered.SPARK_ONE_SIDED : ShuffleRegistered.SPARK, reason.get().name(),
          reason.get().text());
      fallbacks.get(reason.get()).increment();
      if (reason.get() == FallbackReason.CODEC_SPARK) {
        counters.increment(Counter.SHUFFLES_SPARK_CODEC);
      } else {
        counters.increment(Counter.SHUFFLES_STOCK);
        logFallback(shuffleId, reason.get());
      }
      if (reason.get() != FallbackReason.DISABLED) {
        noteSqlShuffle(shuffleId, dependency);
      }
      ShuffleHandle sparks = super.registerShuffle(shuffleId, dependency);
      return reason.get() == FallbackReason.DISABLED ? sparks
          : new CarriedHandle<>(shuffleId, dependency, sparks, oneSided ? events.figures(dependency) : null);
    }
    RecordFormat format = ShufflePolicy.formatOf(dependency);
    counters.increment(format == RecordFormat.SQL_ROWS ? Counter.SHUFFLES_ROWS : Counter.SHUFFLES_RECORDS);
    events.shuffleRegistered(shuffleId, dependency, format.name(), null, null);
    noteSqlShuffle(shuffleId, dependency);
    if (isDriver && runsTasks()) {
      localShuffles.add(shuffleId, dependency);
    }
    return new SluiceShuffleHandle<>(shuffleId, dependency, format, ApplicationKey.isWanted(conf),
        JarBuild.ofThisProcess(), events.figures(dependency),
        format == RecordFormat.SQL_ROWS ? ExchangeInput.metricsOf(dependency.rdd()) : null);
  }

  /**
   * Spark's shuffle cannot do Comet's exchanges: with {@code spark.sluice.enabled=false} new plans have none, and no
   * library reads them itself, though one may stand above.
   */
  private static Optional<FallbackReason> withoutFallback(int shuffleId, Optional<FallbackReason> reason) {
    if (reason.isPresent() && reason.get() != FallbackReason.DISABLED
        && reason.get() != FallbackReason.READ_BY_LIBRARY) {
      throw new SluiceException("shuffle " + shuffleId + " is one of Comet's exchanges, which Sluice does not carry "
          + "because " + reason.get().text() + ". Set spark.sluice.comet=false");
    }
    return Optional.empty();
  }

  /**
   * Before a query of the session is planned on this thread: whether it may have Comet's exchanges. They are carried as
   * rows of SQL are, so what stands against those for a whole application stands against them.
   */
  public void prepareSession() {
    CometSession.prepare(
        SessionSettings.comet() && policy.fallbackOfApplication(conf).isEmpty(), getClass().getName());
  }

  /**
   * RDDs' shuffles and those registered outside of SQL executions, as by {@code Dataset.rdd}, are Spark's cleaner's.
   */
  private void noteSqlShuffle(int shuffleId, ShuffleDependency<?, ?, ?> dependency) {
    if (!removesSqlShuffles || ShufflePolicy.formatOf(dependency) != RecordFormat.SQL_ROWS) {
      return;
    }
    long execution = ApplicationEvents.execution(dependency.rdd().context());
    if (execution != ShuffleRegistered.NO_EXECUTION) {
      sqlShuffles.add(shuffleId, SessionSettings.cleanup(settings.sqlCleanup()), execution);
    }
  }

  /** Sessions may set any number of names and values: only the first hundred that have no effect are logged. */
  private void logIgnoredSettings() {
    ShufflePolicy.ignoredSettings(conf).forEach((setting, reason) -> {
      synchronized (loggedSettings) {
        if (loggedSettings.size() < MOST_LOGGED_SETTINGS && loggedSettings.add(setting)) {
          LOG.warn("The session's {} has no effect: {}", setting, reason);
        }
      }
    });
  }

  private void logFallback(int shuffleId, FallbackReason reason) {
    boolean first;
    synchronized (loggedReasons) {
      first = loggedReasons.add(reason);
    }
    if (first) {
      String message =
          "Shuffle {} uses Spark's sort shuffle because {} (said once; later shuffles like it at debug level)";
      if (reason.isWanted()) {
        LOG.info(message, shuffleId, reason.text());
      } else {
        LOG.warn(message, shuffleId, reason.text());
      }
    } else {
      LOG.debug("Shuffle {} uses Spark's sort shuffle because {}", shuffleId, reason.text());
    }
  }

  @Override
  public <K, V> ShuffleWriter<K, V> getWriter(
      ShuffleHandle handle, long mapId, TaskContext context, ShuffleWriteMetricsReporter metrics) {
    if (handle instanceof CarriedHandle<?, ?, ?> carried) {
      reportExecutor(carried.figures());
      ShuffleWriter<K, V> sparks = super.getWriter(carried.sparks(), mapId, context, metrics);
      return tracked(readsSparksFormat() ? published(sparks, handle.shuffleId(), mapId) : sparks,
          handle.shuffleId(), mapId);
    }
    if (!(handle instanceof SluiceShuffleHandle<?, ?, ?> ours)) {
      return super.getWriter(handle, mapId, context, metrics);
    }
    ExecutorState state = executorState();
    checkHandle(ours, state);
    reportExecutor(ours.figures());
    ShuffleWriter<K, V> writer =
        new SluiceShuffleWriter<>(ours, mapId, context, metrics, state, shuffleBlockResolver());
    return tracked(published(writer, handle.shuffleId(), mapId), handle.shuffleId(), mapId);
  }

  /** The writer, wrapped so that its output is deleted if the shuffle is removed before it has ended. */
  private <K, V> ShuffleWriter<K, V> tracked(ShuffleWriter<K, V> writer, int shuffleId, long mapId) {
    WrittenOutputs.Output output = written.begin(shuffleId, mapId);
    return new TrackedWriter<>(writer, output, () -> deleteOutputs(shuffleId, Set.of(mapId)));
  }

  /** The writer, wrapped so that its output is published where this application reads blocks one-sidedly. */
  private <K, V> ShuffleWriter<K, V> published(ShuffleWriter<K, V> writer, int shuffleId, long mapId) {
    Optional<TransportService> service = transport();
    return service.isEmpty() ? writer
        : new PublishingWriter<>(writer, shuffleBlockResolver(), service.get().publisher(), shuffleId, mapId);
  }

  @Override
  @SuppressWarnings("unchecked")
  public <K, C> ShuffleReader<K, C> getReader(
      ShuffleHandle handle, int startMapIndex, int endMapIndex, int startPartition, int endPartition,
      TaskContext context, ShuffleReadMetricsReporter metrics) {
    if (handle instanceof CarriedHandle<?, ?, ?> carried) {
      reportExecutor(carried.figures());
      if (readsSparksFormat() && transport().isPresent()) {
        return new SparkFormatReader<>(((BaseShuffleHandle<K, ?, C>) handle).dependency(),
            new SparkFormatReader.Range(startMapIndex, endMapIndex, startPartition, endPartition), context, metrics,
            executorState().blockClient(SparkEnv.get().blockManager()),
            new ReadCounts(carried.counters(counters, context)));
      }
    }
    if (!(handle instanceof SluiceShuffleHandle<?, ?, ?> ours)) {
      return super.getReader(handle, startMapIndex, endMapIndex, startPartition, endPartition, context, metrics);
    }
    ExecutorState state = executorState();
    checkHandle(ours, state);
    reportExecutor(ours.figures());
    state.cache().ifPresent(cache -> cache.read(handle.shuffleId(), stage(context)));
    SluiceShuffleHandle<K, ?, C> typed = (SluiceShuffleHandle<K, ?, C>) ours;
    SluiceShuffleReader<K, C> reader = new SluiceShuffleReader<>(
        typed, startMapIndex, endMapIndex, startPartition, endPartition, context, metrics, state, localShuffles);
    CometDependency comets = CometDependency.of(ours.dependency());
    return comets == null ? reader
        : CometReaders.reader(typed, context, metrics, () -> reader.readBatches(comets));
  }

  private static void checkHandle(SluiceShuffleHandle<?, ?, ?> handle, ExecutorState state) {
    handle.checkBuild(JarBuild.ofThisProcess(), SparkEnv.get().executorId());
    handle.checkSealed(state.frameKey().isPresent());
  }

  /** An attempt of a stage, as one number. */
  private static long stage(TaskContext context) {
    return (long) context.stageId() << Integer.SIZE | context.stageAttemptNumber();
  }

  /**
   * With the results of some tasks the driver gets the executor's state.
   *
   * @param figures what takes it there; null for nothing
   */
  private void reportExecutor(TaskFigures figures) {
    if (figures != null && reportPace.isDue(System.nanoTime())) {
      SparkEnv env = SparkEnv.get();
      // Not before: a task of a shuffle in Spark's format may need no state, and a failure here must not be the task's.
      figures.reportExecutor(() -> ExecutorReports.of(
          executorState(), env.executorId(), env.blockManager().blockManagerId().host(), nativeLibrary.detail()));
    }
  }

  @Override
  public boolean unregisterShuffle(int shuffleId) {
    sqlShuffles.forget(shuffleId);
    deleteOutputs(shuffleId, written.removeShuffle(shuffleId));
    startedCache().ifPresent(cache -> cache.removeShuffle(shuffleId));
    return super.unregisterShuffle(shuffleId);
  }

  /** Deletes map outputs of this process, Spark's files first, and forgets what is known of their shuffle. */
  private void deleteOutputs(int shuffleId, Set<Long> mapIds) {
    startedTransport().ifPresent(service -> service.publisher().withdrawShuffle(shuffleId));
    mapIds.forEach(mapId -> shuffleBlockResolver().removeDataByMap(shuffleId, mapId));
    startedCache().ifPresent(cache -> cache.removeOutputs(shuffleId, mapIds));
    startedExecutorState().ifPresent(state -> {
      state.gpu().ifPresent(gpu -> gpu.forgetShuffle(shuffleId));
      state.reportedBytes().forget(shuffleId);
      state.orderGuesses().forget(shuffleId);
      state.sampledShuffles().forget(shuffleId);
      state.shuffleSerializers().forget(shuffleId);
    });
  }

  /**
   * Removes a shuffle of a SQL execution that has ended; on the driver. The driver's tracker keeps the shuffle, without
   * outputs, so that an action that wants it all the same computes it again.
   */
  void removeSqlShuffle(int shuffleId, long lastMapId) {
    MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
    if (!tracker.containsShuffle(shuffleId)) {
      return;
    }
    tracker.unregisterAllMapAndMergeOutput(shuffleId);
    counters.increment(Counter.CLEANUP_SHUFFLES);
    if (runsTasks()) {
      removeOutputs(shuffleId, lastMapId);
    } else {
      removals.add(shuffleId, lastMapId);
    }
  }

  /** Throws if {@link #removeSqlShuffle} would be heard by no executor, or could remove too much; on the driver. */
  void checkShufflesCanBeRemoved() {
    if (!SqlCleanup.isPossible(conf)) {
      throw new SluiceException("with spark.shuffle.useOldFetchProtocol=true map outputs that are computed again have"
          + " the ids of the old ones, so that removing those is not safe: remove that setting");
    }
    if (!runsTasks() && !TransportRules.hasPlugin(conf)) {
      throw new SluiceException("executors do not ask which shuffles are removed: start the application with"
          + " spark.plugins=io.sluice.spark.SluicePlugin");
    }
  }

  /** Removes what tasks up to a map id have written of a shuffle in this process. */
  public void removeOutputs(int shuffleId, long lastMapId) {
    deleteOutputs(shuffleId, written.removeUpTo(shuffleId, lastMapId));
  }

  /** Has all executors leave a shuffle's outputs where they are when they are decommissioned; on the driver. */
  void leaveUnmoved(int shuffleId) {
    // In local mode Spark has told this process itself.
    if (!runsTasks()) {
      removals.addUnmoved(shuffleId);
    }
  }

  /** Leaves a shuffle's outputs in this process where they are when it is decommissioned. */
  void leaveOutputsUnmoved(int shuffleId) {
    SkippedMigration.add(shuffleBlockResolver(), shuffleId);
  }

  /** What {@link #removeSqlShuffle} and {@link #leaveUnmoved} got, for executors to ask; on the driver. */
  OutputRemovals removals() {
    return removals;
  }

  SqlShuffles sqlShuffles() {
    return sqlShuffles;
  }

  @Override
  public void stop() {
    closePools();
    super.stop();
  }

  /** Ends thread pools and transport; tasks that still run encode, decode and fetch without them. */
  void closePools() {
    ExecutorState state;
    synchronized (this) {
      state = executor;
    }
    if (state != null) {
      state.close();
    }
  }

  /**
   * The transport that reads other executors' blocks one-sidedly; empty where Spark's block transfer does, as on the
   * driver. The first call opens it, which may take a second.
   */
  public Optional<TransportService> transport() {
    return receives() ? executorState().transport() : Optional.empty();
  }

  private boolean receives() {
    return capabilities.oneSided() && !isDriver && nativeLibrary.available();
  }

  private synchronized Optional<OutputCache> startedCache() {
    return executor == null ? Optional.empty() : executor.cache();
  }

  private synchronized Optional<TransportService> startedTransport() {
    return executor == null ? Optional.empty() : executor.transport();
  }

  private Optional<TransportService> openTransport() {
    byte[] secret = TransportSecret.of(SparkEnv.get().securityManager().getSecretKey());
    String[] directories = Stream.of(SparkEnv.get().blockManager().diskBlockManager().localDirs()).map(File::getPath)
        .toArray(String[]::new);
    return TransportService.open(
        settings.transport(), settings.mode(), secret, settings.transport().receiveLimitBytes(), counters, directories);
  }

  /** Called on the thread of the first task, which may know what Spark has given to the executor. */
  private Optional<ExecutorGpu> startGpu() {
    if (settings.gpu().use() == GpuUse.OFF) {
      return Optional.empty();
    }
    TaskContext task = TaskContext.get();
    String address = AssignedGpu.address(task == null ? Map.of() : task.resourcesJMap());
    long batchBytes = BatchSize.leastBytes(settings.writer(), settings.memory(), settings.cores().tasks());
    settings.gpu().warning(batchBytes).ifPresent(LOG::warn);
    return Optional.of(ExecutorGpu.start(settings.gpu(), settings.blocks(), address, counters));
  }

  private Optional<OutputCache> openCache(Optional<TransportService> transport, Optional<ExecutorGpu> gpu) {
    settings.store().cacheLimit().warning().ifPresent(LOG::warn);
    long limit = wantedCacheLimit == LimitRequest.UNCHANGED ? settings.store().cacheLimit().bytes()
        : Settings.cacheLimit(conf, wantedCacheLimit).bytes();
    return OutputCache.open(limit, memoryFiles, shuffleBlockResolver(), (shuffleId, mapId, inMemory) -> {
      transport.ifPresent(service -> service.publisher().renew(shuffleId, mapId));
      gpu.ifPresent(copies -> copies.hostCopyMoved(shuffleId, mapId, inMemory));
    }, counters);
  }

  /** Sets the limit of map outputs in memory for all executors; on the driver. */
  void setCacheLimit(long bytes) {
    wantedCacheLimit = bytes;
    if (runsTasks()) {
      changeCacheLimit(bytes);
    }
  }

  /** The limit that was set last, by {@link #setCacheLimit} or by the setting. */
  long cacheLimit() {
    return wantedCacheLimit == LimitRequest.UNCHANGED
        ? SluiceSettings.CACHE_HOST_LIMIT.parse(
            conf.get(SluiceSettings.CACHE_HOST_LIMIT.key(), SluiceSettings.CACHE_HOST_LIMIT.defaultText()))
        : wantedCacheLimit;
  }

  /** What executors are answered that ask for the limit; on the driver. */
  long wantedCacheLimit() {
    return wantedCacheLimit;
  }

  /**
   * Changes the limit of map outputs in memory in this process, as far as its container has room.
   *
   * @return false before the first task: then there is nothing yet to change
   */
  boolean changeCacheLimit(long bytes) {
    Optional<ExecutorState> state = startedExecutorState();
    state.flatMap(ExecutorState::cache).ifPresent(cache -> {
      CacheLimit limit = Settings.cacheLimit(conf, bytes);
      limit.warning().ifPresent(LOG::warn);
      LOG.info("Up to {} bytes of map outputs are kept in memory from now on, instead of {}", limit.bytes(),
          cache.limitBytes());
      cache.setLimitBytes(limit.bytes());
    });
    return state.isPresent();
  }

  /** The state that this process's tasks share; created by the first task. */
  public synchronized ExecutorState executorState() {
    if (executor == null) {
      Optional<ApplicationKey> frameKey = ApplicationKey.of(SparkEnv.get());
      boolean nativeCore = nativeLibrary.available();
      Optional<TransportService> transport = receives() ? openTransport() : Optional.empty();
      Optional<ExecutorGpu> gpu = nativeCore ? startGpu() : Optional.empty();
      Optional<OutputCache> cache = capabilities.cache() && nativeCore ? openCache(transport, gpu) : Optional.empty();
      executor = new ExecutorState(
          nativeCore, settings, idleCores, FetchSettings.of(SparkEnv.get().conf()), counters, transport, cache,
          frameKey, gpu);
    }
    return executor;
  }

  /** The counters of this process; there from the start. */
  public Counters counters() {
    return counters;
  }

  /**
   * Counts a sort in a SQL plan that stays Spark's; on the driver.
   *
   * @param reason completes "because …"
   */
  public void countSortLeft(String reason) {
    counters.increment(Counter.PLANS_SORTS_BY_SPARK);
    planNodes.sortLeft(reason);
  }

  /**
   * Counts an exchange in a SQL plan whose partitions Spark's function finds; on the driver.
   *
   * @param reason completes "because …"
   */
  public void countExchangeLeft(String reason) {
    counters.increment(Counter.PLANS_EXCHANGES_BY_SPARK);
    planNodes.exchangeLeft(reason);
  }

  /** The nodes of SQL plans that stay Spark's, by the reason. */
  PlanNodes planNodes() {
    return planNodes;
  }

  /** The cores of this process that no task's thread occupies. */
  IdleCores idleCores() {
    return idleCores;
  }

  public Settings settings() {
    return settings;
  }

  /** Whether the native library is used in this process, or why not. */
  public NativeLibrary.Status nativeLibrary() {
    return nativeLibrary;
  }

  /** How many shuffles were left to Spark for {@code reason}; on the driver. */
  long fallbacks(FallbackReason reason) {
    return fallbacks.get(reason).sum();
  }

  /** The state of {@link #executorState} if it has been created; never creates it. */
  Optional<ExecutorState> startedExecutorState() {
    synchronized (this) {
      return Optional.ofNullable(executor);
    }
  }
}
