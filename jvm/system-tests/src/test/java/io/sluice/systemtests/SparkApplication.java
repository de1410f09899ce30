package io.sluice.systemtests;

import io.sluice.nativebridge.NativeCore;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

import org.apache.spark.util.Utils$;

/**
 * A running Spark application with local directories of its own; one at a time in this process.
 *
 * <p>Defaults: no UI, AQE off, no broadcast joins, 8 shuffle partitions, short fetch retries, leaks are errors.
 */
final class SparkApplication implements AutoCloseable {
  /**
   * Two executors with a core each, in processes of their own. Jobs begin with the executors that have registered so
   * far: {@link #awaitExecutors}.
   */
  static final String CLUSTER = "local-cluster[2,1,1024]";
  /** Driver and executor in this process, two cores. */
  static final String LOCAL = "local[2]";

  private static final Path WORK_DIR =
      Path.of(System.getProperty("systemtests.workDir", "target/work")).toAbsolutePath();
  /** Two JVMs start one after the other and load their classes, beside other tests on two cores. */
  private static final Duration EXECUTORS_LIMIT = Duration.ofSeconds(180);
  private static final AtomicInteger SERIAL = new AtomicInteger();

  private final SparkSession session;
  private final Engine engine;
  private final Path localDir;
  private final StageEvents events = new StageEvents();

  private SparkApplication(Engine engine, SparkSession session, Path localDir) {
    this.engine = engine;
    this.session = session;
    this.localDir = localDir;
    session.sparkContext().addSparkListener(events);
  }

  static Builder on(Engine engine) {
    return new Builder(engine);
  }

  /**
   * Returns this when {@code count} executors have registered their block managers. If they do not in time, that is an
   * error, and the application is closed.
   */
  SparkApplication awaitExecutors(int count) {
    SparkContext context = session.sparkContext();
    try {
      // The driver is in this list.
      Await.until(EXECUTORS_LIMIT, () -> "only there: " + context.getExecutorMemoryStatus(),
          () -> context.getExecutorMemoryStatus().size() > count);
    } catch (AssertionError e) {
      close();
      throw e;
    }
    return this;
  }

  SparkSession session() {
    return session;
  }

  JavaSparkContext context() {
    return JavaSparkContext.fromSparkContext(session.sparkContext());
  }

  /** Whether it has executors of its own. */
  boolean isCluster() {
    return !session.sparkContext().isLocal();
  }

  /** Everything that Spark writes locally, driver and executors alike, lies under it. */
  Path localDir() {
    return localDir;
  }

  /** The scheduler's events so far. */
  StageEvents events() {
    events.settle(session.sparkContext());
    return events;
  }

  @Override
  public void close() {
    session.stop();
    SparkSession.clearActiveSession();
    SparkSession.clearDefaultSession();
    Utils$.MODULE$.clearLocalRootDirs();
    ShuffleFiles.deleteTree(localDir);
  }

  /** Collects the settings of an application. */
  static final class Builder {
    private final Engine engine;
    private final Map<String, String> settings = new LinkedHashMap<>();
    private String master = LOCAL;
    private Path localDir = WORK_DIR.resolve("local-" + SERIAL.incrementAndGet());

    private Builder(Engine engine) {
      this.engine = engine;
      defaults();
      if (engine.isSluice()) {
        set("spark.plugins", "io.sluice.spark.SluicePlugin");
        set("spark.sluice.memory.failOnLeak", "true");
        set("spark.sluice.mode", Engine.mode());
      }
    }

    private void defaults() {
      set("spark.app.name", "system-tests");
      set("spark.ui.enabled", "false");
      set("spark.driver.host", "127.0.0.1");
      set("spark.driver.bindAddress", "127.0.0.1");
      set("spark.sql.adaptive.enabled", "false");
      set("spark.sql.autoBroadcastJoinThreshold", "-1");
      set("spark.sql.shuffle.partitions", "8");
      set("spark.sql.warehouse.dir", WORK_DIR.resolve("warehouse").toString());
      set("spark.shuffle.io.maxRetries", "1");
      set("spark.shuffle.io.retryWait", "100ms");
      set("spark.unsafe.exceptionOnMemoryLeak", "true");
      set("spark.executor.extraClassPath", executorClassPath());
    }

    Builder master(String master) {
      this.master = master;
      return this;
    }

    /** Another shuffle manager than the engine's: that of a library which brings one. */
    Builder manager(String managerClass) {
      return set("spark.shuffle.manager", managerClass);
    }

    Builder set(String key, String value) {
      settings.put(key, value);
      return this;
    }

    /** Libraries that executors in processes of their own load with Sluice's jar. */
    Builder addToExecutorClassPath(String more) {
      return set("spark.executor.extraClassPath", executorClassPath() + ":" + more);
    }

    /** Sets those of the settings that the engine knows: stock gets no {@code spark.sluice.*} keys. */
    Builder setAll(Map<String, String> more) {
      more.forEach((key, value) -> {
        if (engine.isSluice() || !key.startsWith("spark.sluice.")) {
          set(key, value);
        }
      });
      return this;
    }

    Builder without(String key) {
      settings.remove(key);
      return this;
    }

    SparkApplication start() {
      Utils$.MODULE$.clearLocalRootDirs();
      SparkConf conf = new SparkConf(false).setMaster(master).set("spark.shuffle.manager", engine.managerClass());
      settings.forEach(conf::set);
      if (!settings.containsKey("spark.local.dir")) {
        // A run that was killed may have left files.
        ShuffleFiles.deleteTree(localDir);
        conf.set("spark.local.dir", createDirectory(localDir).toString());
      }
      return new SparkApplication(engine, SparkSession.builder().config(conf).getOrCreate(), localDir);
    }
  }

  static Path workDir() {
    return createDirectory(WORK_DIR);
  }

  private static Path createDirectory(Path directory) {
    try {
      return Files.createDirectories(directory);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The tests' classes and the product's jar; Spark itself comes from SPARK_HOME. */
  private static String executorClassPath() {
    List<String> entries = new ArrayList<>();
    for (Class<?> type : List.of(SparkApplication.class, NativeCore.class)) {
      entries.add(Path.of(type.getProtectionDomain().getCodeSource().getLocation().getPath()).toString());
    }
    return String.join(":", entries);
  }

  @Override
  public String toString() {
    return engine + " " + session.sparkContext().master();
  }
}
