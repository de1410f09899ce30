package io.sluice.bench.run;

import io.sluice.bench.check.Digest;
import io.sluice.bench.protocol.Reply;
import io.sluice.bench.protocol.Request;
import io.sluice.bench.protocol.RunMetrics;
import io.sluice.bench.workload.Sizing;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * One engine's Spark application in a process of its own, with a folder of its own: a Spark home that shares
 * the line's jars (workers write below it) and the shuffle files. The folder goes when the application is closed.
 * {@link #close} may be called from any thread, everything else by one.
 */
public final class Application implements AutoCloseable {

  private final Engine engine;
  private final Path folder;
  private final Path executorLogs;
  private final DriverProcess driver;
  private final PeerServers servers;
  /** Closes the application when the user interrupts this process. */
  private final Thread closer = new Thread(this::close, "close-application");
  private volatile boolean failed;
  private volatile boolean closed;

  private Application(Engine engine, Path folder, Path executorLogs, DriverProcess driver, PeerServers servers) {
    this.engine = engine;
    this.servers = servers;
    this.folder = folder;
    this.executorLogs = executorLogs;
    this.driver = driver;
    Runtime.getRuntime().addShutdownHook(closer);
  }

  /** Starts {@code engine} on {@code home} and waits until Spark is up. */
  public static Application start(Engine engine, SparkHome home, Workplace workplace, Site site,
      Map<String, String> user) {
    checkNotEnding();
    String name = freeName(engine.label(), workplace);
    Path folder = workplace.run(name);
    prepare(folder, home, workplace);
    List<Path> jars = jars(engine, workplace);
    Path log = workplace.logs().resolve("driver-" + name + ".log");
    Path executorLogs = site.executorLogs() == null ? folder.resolve("work") : site.executorLogs();
    PeerServers servers = servers(engine, home, workplace, site, folder);
    ProcessBuilder process = process(home, folder, jars, site);
    process.environment().putAll(servers.environment());
    Application application = new Application(engine, folder, executorLogs, DriverProcess.start(process, log), servers);
    try {
      Path localDir = site.localDir() == null ? folder.resolve("local") : site.localDir();
      Map<String, String> all = new LinkedHashMap<>(engine.settingsOn(home));
      all.putAll(servers.settings());
      all.putAll(user);
      Map<String, String> settings = SparkSettings.of(engine, site, jars, localDir, all);
      application.ask(Request.start(settings, SparkSettings.ownKeys(user), application.serverIds()), progress -> {});
      return application;
    } catch (RuntimeException e) {
      application.close();
      throw e;
    }
  }

  /**
   * Refuses to start anything while this process ends: nothing would end it.
   *
   * @throws IllegalStateException then
   */
  private static void checkNotEnding() {
    Thread none = new Thread(() -> {}, "none");
    Runtime.getRuntime().addShutdownHook(none);
    Runtime.getRuntime().removeShutdownHook(none);
  }

  /** Those of the engine's peer, up; none if it has none. */
  private static PeerServers servers(Engine engine, SparkHome home, Workplace workplace, Site site, Path folder) {
    Optional<Peer> peer = engine.peer().filter(Peer::hasServers);
    return peer.isEmpty() ? PeerServers.none()
        : PeerServers.start(peer.get(), new PeerServers.Place(workplace.peers().homes().get(peer.get()),
            folder.resolve("servers"), site.master(), site.driverCommand(), home, workplace.benchJar()));
  }

  /** {@code label}, or with a number behind it if an application of that name has failed and left its folder. */
  private static String freeName(String label, Workplace workplace) {
    String name = label;
    for (int i = 2; Files.exists(workplace.run(name)); i++) {
      name = label + "-" + i;
    }
    return name;
  }

  private List<Long> serverIds() {
    return servers.processes().stream().map(ProcessHandle::pid).toList();
  }

  public Engine engine() {
    return engine;
  }

  /** Where the application has its files, unless its master's workers have folders of their own. */
  public Path folder() {
    return folder;
  }

  /** The driver's process. */
  public ProcessHandle driver() {
    return driver.process();
  }

  /** The driver's process and those that it has started, the executors of a local cluster. */
  public List<ProcessHandle> processes() {
    return driver.processes();
  }

  /** The processes of executors that live now; those of a local cluster. */
  public List<ProcessHandle> executors() {
    return driver.processes().stream().skip(1).toList();
  }

  /** Runs {@code workload} once. */
  public RunMetrics run(String workload, Sizing sizing, Consumer<Reply> progress) {
    return ask(Request.run(workload, sizing), progress).run();
  }

  /** Runs {@code workload} once more to digest its result. */
  public Digest verify(String workload, Sizing sizing, Consumer<Reply> progress) {
    return ask(Request.verify(workload, sizing), progress).digest();
  }

  /** Makes those of the tables that {@code sizing} names whose names are {@code names}. */
  public void makeTables(List<String> names, Sizing sizing, Consumer<Reply> progress) {
    ask(Request.tables(names, sizing), progress);
  }

  /** Stops the application; after a failure its folder stays, because the executors' logs are in it. */
  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    driver.close();
    servers.close();
    if (!failed) {
      delete(folder);
    }
  }

  private Reply ask(Request request, Consumer<Reply> progress) {
    try {
      return driver.ask(request, progress);
    } catch (EngineFailure e) {
      failed = !closed;
      throw new EngineFailure(engine.label() + ": " + e.getMessage() + "; executors' logs: " + executorLogs);
    }
  }

  private static void prepare(Path folder, SparkHome home, Workplace workplace) {
    try {
      Files.createDirectories(folder.resolve("local"));
      Files.createDirectories(workplace.logs());
      Files.createSymbolicLink(folder.resolve("jars"), home.jars());
    } catch (IOException e) {
      throw new UncheckedIOException("the folder " + folder + " cannot be prepared", e);
    }
  }

  private static List<Path> jars(Engine engine, Workplace workplace) {
    List<Path> jars = workplace.jarsOf(engine);
    jars.add(workplace.benchJar());
    return jars;
  }

  private static ProcessBuilder process(SparkHome home, Path folder, List<Path> jars, Site site) {
    List<String> command = new ArrayList<>(site.driverCommand());
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx" + site.master().driverMemoryMib() + "m");
    command.addAll(JavaModules.options());
    command.add(SparkSettings.LOG_OPTION);
    command.add("-cp");
    command.add(String.join(":", jars.stream().map(Path::toString).toList()) + ":" + home.jars() + "/*");
    command.add("io.sluice.bench.driver.DriverMain");
    ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile());
    Map<String, String> environment = builder.environment();
    // A Spark installation of the user must not affect the measurement.
    environment.keySet().removeIf(name -> name.startsWith("SPARK_"));
    environment.put("SPARK_HOME", folder.toString());
    environment.put("SPARK_SCALA_VERSION", home.scalaVersion());
    environment.put("SPARK_LOCAL_IP", "127.0.0.1");
    return builder;
  }

  static void delete(Path folder) {
    try (Stream<Path> paths = Files.walk(folder)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    } catch (IOException | UncheckedIOException e) {
      System.err.println("warning: " + folder + " could not be removed: " + e.getMessage());
    }
  }
}
