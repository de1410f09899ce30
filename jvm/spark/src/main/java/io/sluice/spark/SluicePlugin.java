package io.sluice.spark;

import com.codahale.metrics.Gauge;
import io.sluice.nativebridge.NativeLibrary;
import io.sluice.spark.cleanup.EndedExecutions;
import io.sluice.spark.cleanup.RemovalPoll;
import io.sluice.spark.cleanup.RemovalRequest;
import io.sluice.spark.cleanup.UnmovedShuffles;
import io.sluice.spark.comet.CometSession;
import io.sluice.spark.compat.SkippedMigration;
import io.sluice.spark.conf.JarVersions;
import io.sluice.spark.conf.Settings;
import io.sluice.spark.conf.SluiceSettings;
import io.sluice.spark.conf.SqlCleanup;
import io.sluice.spark.conf.Store;
import io.sluice.spark.events.ApplicationEvents;
import io.sluice.spark.events.PlanNodesListener;
import io.sluice.spark.events.SettingsEvents;
import io.sluice.spark.executor.ExecutorGauge;
import io.sluice.spark.gpu.AssignedGpu;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.policy.FallbackReason;
import io.sluice.spark.read.InsideTask;
import io.sluice.spark.sql.SessionExtension;
import io.sluice.spark.store.LimitPoll;
import io.sluice.spark.store.LimitRequest;
import io.sluice.spark.transport.PeerDiscovery;
import io.sluice.spark.transport.PeerHeartbeat;
import io.sluice.spark.transport.PeerRegistry;
import io.sluice.spark.transport.TransportService;
import io.sluice.spark.ui.SluiceTab;
import io.sluice.spark.versions.Admission;
import io.sluice.spark.versions.JarBuild;
import io.sluice.spark.versions.Refusal;
import io.sluice.spark.versions.RefusedExecutors;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.util.Utils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The plugin that users name in {@code spark.plugins}: checks the settings before anything runs, refuses executors that
 * have another Sluice than the driver, shows the counters as Spark metrics, and lets executors find each other for
 * one-sided reads. The shuffle manager works without it, except for those.
 */
public final class SluicePlugin implements SparkPlugin {
  private static final Logger LOG = LoggerFactory.getLogger(SluicePlugin.class);
  /** The executor id of the driver, which in local mode runs the tasks. */
  private static final String DRIVER = "driver";
  private static final long MANAGER_WAIT_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final long MANAGER_POLL_MILLIS = 20;

  @Override
  public DriverPlugin driverPlugin() {
    return new Driver();
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new Executor();
  }

  /** Runs on the driver. */
  private static final class Driver implements DriverPlugin {
    private PeerRegistry peers;
    /** The application whose UI gets the tab; null for none. */
    private SparkContext withTab;
    private RefusedExecutors refusedExecutors;

    @Override
    public Map<String, String> init(SparkContext context, PluginContext plugin) {
      JarVersions.requireOne();
      Settings settings = Settings.from(plugin.conf());
      peers = new PeerRegistry(System::nanoTime, settings.transport().heartbeatTimeoutMillis());
      refusedExecutors = new RefusedExecutors(context, Driver::countRefusedExecutor,
          Set.of(SluicePlugin.class.getName(), SluiceShuffleManager.class.getName()));
      context.addSparkListener(refusedExecutors);
      if (settings.transport().oneSided()) {
        context.addSparkListener(new LostExecutors(peers));
      }
      String manager = plugin.conf().get("spark.shuffle.manager", "sort");
      if (manager.equals(SluiceShuffleManager.class.getName())) {
        LOG.info("Sluice {}: codec {}, transport {}, up to {} encoder and {} decoder threads per executor; {}",
            settings.enabled() ? "is on" : "is off until a session sets spark.sluice.enabled=true",
            settings.codec(), settings.transport().transport(),
            settings.writer().threads().most(), settings.reader().threads().most(),
            settings.memory().offHeapEnabled() ? "shuffles use Spark's off-heap memory"
                : settings.memory().limit().describe());
        settings.memory().limit().warning().ifPresent(LOG::warn);
        if (settings.sqlExchange()) {
          SessionExtension.addTo(plugin.conf());
          reportComet(settings, plugin.conf());
        }
        if (SqlCleanup.isPossible(plugin.conf())) {
          removeShufflesOfEndedExecutions(context);
        }
        if (SkippedMigration.isPossible(plugin.conf())) {
          leaveShufflesOfEndedExecutionsUnmoved(context);
        }
      } else {
        LOG.warn("The Sluice plugin is there but shuffles are not Sluice's: spark.shuffle.manager = {}, set it to {}",
            manager, SluiceShuffleManager.class.getName());
      }
      if (settings.ui().events()) {
        postSettings(context, settings);
        followPlans(context);
      }
      if (settings.ui().tab()) {
        SluiceTab.followEvents(context, settings.ui().retainedShuffles());
        withTab = context;
      }
      return JarBuild.ofThisProcess().toSettings();
    }

    private static void reportComet(Settings settings, SparkConf conf) {
      if (SessionExtension.isSqlThere()) {
        CometSession.report(conf, settings.enabled() && conf.getBoolean(SluiceSettings.COMET.key(), true));
      }
    }

    private static void countRefusedExecutor() {
      SluiceShuffleManager manager = currentManager();
      if (manager != null) {
        manager.counters().increment(Counter.EXECUTORS_REFUSED);
      }
    }

    /** The manager may be made later, but before the first shuffle. */
    private static void removeShufflesOfEndedExecutions(SparkContext context) {
      if (SessionExtension.isSqlThere()) {
        context.listenerBus().addToQueue(new EndedExecutions(
            () -> currentManager() == null ? null : currentManager().sqlShuffles(),
            (shuffleId, lastMapId) -> currentManager().removeSqlShuffle(shuffleId, lastMapId)),
            ApplicationEvents.QUEUE);
      }
    }

    private static void leaveShufflesOfEndedExecutionsUnmoved(SparkContext context) {
      if (SessionExtension.isSqlThere()) {
        context.listenerBus().addToQueue(new UnmovedShuffles(shuffleId -> currentManager().leaveUnmoved(shuffleId)),
            ApplicationEvents.QUEUE);
      }
    }

    /** A listener bus that takes no event harms nothing else. */
    private static void postSettings(SparkContext context, Settings settings) {
      try {
        context.listenerBus().post(SettingsEvents.of(settings, context.getConf())
            .on(context.version(), System.getProperty("java.version")));
      } catch (RuntimeException | LinkageError e) {
        LOG.warn("Sluice's settings are not in the event log and the UI, because they could not be posted", e);
      }
    }

    /** Reasons for which nodes of plans stay Spark's; the manager may be made later, but before the first plan. */
    private static void followPlans(SparkContext context) {
      try {
        context.listenerBus().addToQueue(
            new PlanNodesListener(() -> currentManager() == null ? null : currentManager().planNodes(),
                context.listenerBus()::post),
            ApplicationEvents.QUEUE);
      } catch (RuntimeException | LinkageError e) {
        LOG.warn("Which nodes of plans stay Spark's is not in the event log and the UI", e);
      }
    }

    /** The last that the constructor of {@code SparkContext} calls, on every line. */
    @Override
    public void registerMetrics(String appId, PluginContext plugin) {
      register(plugin);
      if (withTab != null) {
        SluiceTab.attachTo(withTab);
      }
    }

    @Override
    public Object receive(Object message) {
      Optional<Refusal> refusal = Refusal.fromMessage(message);
      if (refusal.isPresent()) {
        refusedExecutors.refused(refusal.get());
        return null;
      }
      Optional<String> admitted = Refusal.admittedBy(message);
      if (admitted.isPresent()) {
        refusedExecutors.admitted(admitted.get());
        return null;
      }
      if (message instanceof RemovalRequest request) {
        SluiceShuffleManager manager = currentManager();
        return manager == null ? new long[] {request.from()} : manager.removals().since(request.from());
      }
      if (message instanceof LimitRequest) {
        SluiceShuffleManager manager = currentManager();
        return manager == null ? LimitRequest.UNCHANGED : manager.wantedCacheLimit();
      }
      return message instanceof PeerHeartbeat heartbeat ? peers.heartbeat(heartbeat).toWire() : null;
    }
  }

  /** Tells the registry of executors that the scheduler has lost. */
  private static final class LostExecutors extends SparkListener {
    private final PeerRegistry peers;

    LostExecutors(PeerRegistry peers) {
      this.peers = peers;
    }

    @Override
    public void onExecutorRemoved(SparkListenerExecutorRemoved removed) {
      peers.remove(removed.executorId());
    }
  }

  /** Runs on each executor; in local mode in the driver's process too. */
  private static final class Executor implements ExecutorPlugin {
    private PeerDiscovery discovery;
    private RemovalPoll removals;
    private LimitPoll cacheLimit;

    @Override
    public void init(PluginContext plugin, Map<String, String> extraConf) {
      // Spark's plugin.hostname() fails on executors, which listen on no port.
      Admission.check(
          plugin.executorID(), Utils.localHostName(), extraConf, JarBuild.ofThisProcess(), plugin::ask);
      register(plugin);
      AssignedGpu.executorHas(plugin.resources());
      Settings settings = Settings.from(plugin.conf());
      if (settings.transport().oneSided() && !plugin.executorID().equals(DRIVER)
          && NativeLibrary.load(settings.nativeLibrary()).available()) {
        discovery = PeerDiscovery.start(plugin.executorID(), Executor::awaitTransport, plugin::ask,
            settings.transport().heartbeatIntervalMillis());
      }
      if (!plugin.executorID().equals(DRIVER)) {
        startRemovals(plugin);
      }
      if (settings.store().kind() == Store.CACHE && !plugin.executorID().equals(DRIVER)) {
        cacheLimit = LimitPoll.start(plugin::ask, Executor::changeCacheLimit);
      }
    }

    /** Also where the application starts without clean-up: a session or a program may ask for a removal later. */
    private void startRemovals(PluginContext plugin) {
      boolean unmoved = SkippedMigration.isPossible(plugin.conf());
      boolean sluices = plugin.conf().get("spark.shuffle.manager", "sort").equals(SluiceShuffleManager.class.getName());
      if (unmoved || sluices && SqlCleanup.isPossible(plugin.conf())) {
        removals = RemovalPoll.start(plugin::ask, Executor::removeOutputs, Executor::leaveOutputsUnmoved);
      }
    }

    /** Without a manager there are no outputs yet. */
    private static void removeOutputs(int shuffleId, long lastMapId) {
      SluiceShuffleManager manager = currentManager();
      if (manager != null) {
        manager.removeOutputs(shuffleId, lastMapId);
      }
    }

    private static void leaveOutputsUnmoved(int shuffleId) {
      SluiceShuffleManager manager = currentManager();
      if (manager != null) {
        manager.leaveOutputsUnmoved(shuffleId);
      }
    }

    /** Before there is a manager there is nothing to change. */
    private static boolean changeCacheLimit(long bytes) {
      SluiceShuffleManager manager = currentManager();
      return manager != null && manager.changeCacheLimit(bytes);
    }

    /** The shuffle manager's transport. From Spark 4 on the manager is made only after the plugins. */
    private static Optional<TransportService> awaitTransport() throws InterruptedException {
      long end = System.nanoTime() + MANAGER_WAIT_NANOS;
      while (currentManager() == null && System.nanoTime() - end < 0) {
        TimeUnit.MILLISECONDS.sleep(MANAGER_POLL_MILLIS);
      }
      SluiceShuffleManager manager = currentManager();
      return manager == null ? Optional.empty() : manager.transport();
    }

    /** On the task's thread. */
    @Override
    public void onTaskStart() {
      SluiceShuffleManager manager = currentManager();
      TaskContext context = TaskContext.get();
      if (manager != null && context != null) {
        manager.idleCores().taskStarted(context);
        InsideTask.taskStarted(context);
      }
    }

    @Override
    public void shutdown() {
      if (discovery != null) {
        discovery.close();
      }
      if (removals != null) {
        removals.close();
      }
      if (cacheLimit != null) {
        cacheLimit.close();
      }
      SluiceShuffleManager manager = currentManager();
      if (manager != null) {
        manager.closePools();
      }
    }
  }

  /**
   * The manager may be made after the plugin (Spark 4), so the gauges look for it when they are read. Until then, and
   * when the manager is another one, all are 0.
   */
  private static void register(PluginContext plugin) {
    for (Counter counter : Counter.values()) {
      register(plugin, counter.id(), manager -> manager.counters().get(counter));
    }
    for (FallbackReason reason : FallbackReason.values()) {
      register(plugin, reason.metric(), manager -> manager.fallbacks(reason));
    }
    for (ExecutorGauge gauge : ExecutorGauge.values()) {
      register(plugin, gauge.id(), manager -> manager.startedExecutorState().map(gauge::of).orElse(0L));
    }
  }

  private static void register(PluginContext plugin, String name, Function<SluiceShuffleManager, Number> value) {
    Gauge<Number> gauge = () -> {
      SluiceShuffleManager manager = currentManager();
      return manager == null ? 0L : value.apply(manager);
    };
    plugin.metricRegistry().register(name, gauge);
  }

  private static SluiceShuffleManager currentManager() {
    SparkEnv env = SparkEnv.get();
    return env != null && env.shuffleManager() instanceof SluiceShuffleManager manager ? manager : null;
  }
}
