package io.sluice.bench.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The processes of a remote shuffle service for one application, on loopback: one that coordinates and one that keeps
 * the data. Together with the executors they have as much memory as the executors of other engines have.
 */
final class PeerServers implements AutoCloseable {

  private static final Duration LIMIT = Duration.ofSeconds(120);
  private static final String LOOPBACK = "127.0.0.1";
  /** What tells servers and clients that their own address is loopback's; by default they look for another one. */
  private static final Map<String, String> ADDRESS = Map.of("CELEBORN_LOCAL_HOSTNAME", LOOPBACK, "RSS_IP", LOOPBACK);
  /** As Celeborn's own scripts have it, beside what Spark opens. */
  private static final List<String> OPENED = List.of("--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
      "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED");
  /** Of the coordinating process. Neither keeps data. */
  private static final int COORDINATOR_MIB = 256;
  /** The part of the executors' memory that servers get. */
  private static final int PART = 4;

  private final List<Daemon> daemons = new ArrayList<>();
  private final Map<String, String> settings = new LinkedHashMap<>();

  private PeerServers() {}

  /** None, for engines without servers. */
  static PeerServers none() {
    return new PeerServers();
  }

  /**
   * What servers are started with.
   *
   * @param home of the peer's distribution
   * @param folder for their files
   * @param master whose executors give up a part of their memory for them
   * @param prefix what goes in front of command lines
   */
  record Place(Path home, Path folder, Master master, List<String> prefix, SparkHome spark, Path benchJar) {

    /** What all servers get: a part of what the executors of other engines have together. */
    int mib() {
      return Math.max(2 * COORDINATOR_MIB,
          master.executors().orElseThrow() * master.executorMemoryMib().orElseThrow() / PART);
    }

    /** What that leaves to an executor. */
    int executorMib() {
      return master.executorMemoryMib().orElseThrow() - mib() / master.executors().orElseThrow();
    }

    /** Of the server that keeps data: a third of its memory is heap, the rest outside of the heap. */
    int dataHeapMib() {
      return (mib() - COORDINATOR_MIB) / 3;
    }

    int dataDirectMib() {
      return mib() - COORDINATOR_MIB - dataHeapMib();
    }
  }

  /**
   * Starts those of {@code peer} and waits until they are ready.
   *
   * @throws EngineFailure if they do not get ready; none is left
   */
  static PeerServers start(Peer peer, Place place) {
    PeerServers servers = new PeerServers();
    try {
      Files.createDirectories(place.folder.resolve("data"));
      switch (peer) {
        case CELEBORN -> servers.celeborn(place);
        case UNIFFLE -> servers.uniffle(place);
        default -> throw new IllegalArgumentException(peer.label() + " has no servers");
      }
      servers.settings.put("spark.executor.memory", place.executorMib() + "m");
      return servers;
    } catch (IOException e) {
      servers.close();
      throw new UncheckedIOException("servers of " + peer.label() + " cannot be started", e);
    } catch (RuntimeException e) {
      servers.close();
      throw e;
    }
  }

  /** The settings with which an application finds them. */
  Map<String, String> settings() {
    return settings;
  }

  /** Variables that drivers and executors need; none without servers. */
  Map<String, String> environment() {
    return daemons.isEmpty() ? Map.of() : ADDRESS;
  }

  /** Their processes. */
  List<ProcessHandle> processes() {
    return daemons.stream().map(Daemon::process).toList();
  }

  /** Ends all of them. May be called from any thread. */
  @Override
  public void close() {
    daemons.forEach(Daemon::close);
  }

  /** Class names and settings as in Celeborn's {@code sbin} and its deployment guide. */
  private void celeborn(Place place) throws IOException {
    List<Integer> ports = Daemon.freePorts(3);
    String master = LOOPBACK + ":" + ports.get(0);
    Path conf = Files.writeString(place.folder.resolve("celeborn-defaults.conf"), String.join("\n",
        "celeborn.master.endpoints " + master,
        "celeborn.master.http.host " + LOOPBACK,
        "celeborn.master.http.port " + ports.get(1),
        "celeborn.worker.http.host " + LOOPBACK,
        "celeborn.worker.http.port " + ports.get(2),
        "celeborn.worker.storage.dirs " + place.folder.resolve("data") + ":disktype=SSD",
        "celeborn.worker.storage.disk.reserve.size 1g",
        // It polls for the end of a commit, a tenth of a second by default.
        "celeborn.worker.commitFiles.check.interval 5") + "\n");
    List<String> common = List.of("--host", LOOPBACK, "--properties-file", conf.toString());
    start(place, new Daemon.Program("celeborn-master", and(OPENED, "-Xmx" + COORDINATOR_MIB + "m"),
        jars(place.home.resolve("master-jars")), "org.apache.celeborn.service.deploy.master.Master",
        and(common, "--port", ports.get(0).toString())), "Master started.");
    start(place, new Daemon.Program("celeborn-worker", and(OPENED, dataMemory(place)),
        jars(place.home.resolve("worker-jars")), "org.apache.celeborn.service.deploy.worker.Worker",
        and(common, "celeborn://" + master)), "Register worker successfully");
    settings.put("spark.celeborn.master.endpoints", master);
  }

  /** Class names and settings as in Uniffle's {@code bin} and its guides. */
  private void uniffle(Place place) throws IOException {
    List<Integer> ports = Daemon.freePorts(5);
    String coordinator = LOOPBACK + ":" + ports.get(0);
    Path ofCoordinator = Files.writeString(place.folder.resolve("coordinator.conf"), String.join("\n",
        "rss.rpc.server.port " + ports.get(0),
        "rss.rpc.server.type GRPC",
        "rss.jetty.http.port " + ports.get(1)) + "\n");
    Path ofServer = Files.writeString(place.folder.resolve("server.conf"), String.join("\n",
        "rss.rpc.server.port " + ports.get(2),
        "rss.jetty.http.port " + ports.get(3),
        "rss.rpc.server.type GRPC_NETTY",
        "rss.server.netty.port " + ports.get(4),
        "rss.coordinator.quorum " + coordinator,
        "rss.storage.type MEMORY_LOCALFILE",
        "rss.storage.basePath " + place.folder.resolve("data"),
        "rss.server.heartbeat.delay 100",
        "rss.server.rpc.audit.log.enabled false") + "\n");
    List<Path> hadoop = jars(place.spark.jars()).stream()
        .filter(jar -> jar.getFileName().toString().startsWith("hadoop-client-")).toList();
    start(place, new Daemon.Program("uniffle-coordinator", List.of("-Xmx" + COORDINATOR_MIB + "m"),
        and(jars(place.home.resolve("jars/coordinator")), hadoop),
        "org.apache.uniffle.coordinator.CoordinatorServer", List.of("--conf", ofCoordinator.toString())),
        "Grpc server started");
    start(place, new Daemon.Program("uniffle-server", dataMemory(place),
        and(jars(place.home.resolve("jars/server")), hadoop),
        "org.apache.uniffle.server.ShuffleServer", List.of("--conf", ofServer.toString())),
        "Shuffle server start successfully");
    // The coordinator, which started first.
    daemons.get(daemons.size() - 1).awaitLog("egistering node", LIMIT);
    settings.put("spark.rss.coordinator.quorum", coordinator);
  }

  private static List<String> dataMemory(Place place) {
    return List.of("-Xmx" + place.dataHeapMib() + "m", "-XX:MaxDirectMemorySize=" + place.dataDirectMib() + "m");
  }

  private void start(Place place, Daemon.Program program, String ready) {
    Daemon daemon = Daemon.start(program, place.folder, place.prefix, place.benchJar, ADDRESS);
    // In the order in which they are ended.
    daemons.add(0, daemon);
    daemon.awaitLog(ready, LIMIT);
  }

  /** The jars in {@code folder}. */
  static List<Path> jars(Path folder) {
    if (!Files.isDirectory(folder)) {
      return List.of();
    }
    try (Stream<Path> files = Files.list(folder)) {
      return files.filter(file -> file.toString().endsWith(".jar")).sorted().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(folder + " cannot be listed", e);
    }
  }

  private static List<String> and(List<String> some, String... more) {
    return Stream.concat(some.stream(), Stream.of(more)).toList();
  }

  private static <T> List<T> and(List<T> some, List<T> more) {
    return Stream.concat(some.stream(), more.stream()).toList();
  }
}
