package io.sluice.bench;

import io.sluice.bench.run.Engine;
import io.sluice.bench.run.Master;
import io.sluice.bench.run.Peer;
import io.sluice.bench.run.Peers;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine.Option;

/** The options for engines of other projects, and what their engines ask of a call. */
final class PeerOptions {

  private static final Path DEVICES = Path.of("/dev");
  private static final String OFF_HEAP_SIZE = "spark.memory.offHeap.size";

  @Option(names = "--peer-jar", paramLabel = "NAME=JAR",
      description = "A jar of another project (comet, celeborn, uniffle, rapids, gluten), in place of the one that "
          + "./sluice fetches or that --peer-home has; can be repeated. It must be for the Spark of "
          + "--spark.") private List<String> jars = List.of();

  @Option(names = "--peer-home", paramLabel = "NAME=DIR",
      description = "The unpacked binary distribution of celeborn or uniffle, whose servers it has: they are started "
          + "for every application, on loopback, and get a quarter of the executors' "
          + "memory.") private List<String> homes = List.of();

  /**
   * What the user gave.
   *
   * @throws IllegalArgumentException for a name that no peer has
   */
  Peers given() {
    Map<Peer, List<Path>> ofJars = new EnumMap<>(Peer.class);
    for (String jar : jars) {
      ofJars.computeIfAbsent(peer("--peer-jar", jar), peer -> new ArrayList<>()).add(path("--peer-jar", jar));
    }
    Map<Peer, Path> ofHomes = new EnumMap<>(Peer.class);
    for (String home : homes) {
      Peer peer = peer("--peer-home", home);
      if (!peer.hasServers()) {
        throw new IllegalArgumentException("--peer-home " + peer.label() + ": it has no servers; give --peer-jar");
      }
      ofHomes.put(peer, path("--peer-home", home).toAbsolutePath().normalize());
    }
    return new Peers(ofJars, ofHomes);
  }

  private static Peer peer(String option, String argument) {
    String name = argument.split("=", 2)[0];
    return Peer.find(name).orElseThrow(() -> new IllegalArgumentException(
        option + ": unknown name '" + name + "'; known are " + Peer.labels()));
  }

  private static Path path(String option, String argument) {
    String[] parts = argument.split("=", 2);
    if (parts.length < 2 || parts[1].isEmpty()) {
      throw new IllegalArgumentException(option + " takes NAME=PATH, not '" + argument + "'");
    }
    return Path.of(parts[1]);
  }

  /** Those of {@code engines} that can run on this machine; tells {@code messages} of the others. */
  static List<Engine> runnable(List<Engine> engines, Peers peers, PrintWriter messages) {
    List<Engine> runnable = new ArrayList<>();
    for (Engine engine : engines) {
      Optional<String> obstacle = engine.peer().flatMap(peer -> peers.obstacle(peer, DEVICES));
      if (obstacle.isEmpty()) {
        runnable.add(engine);
      } else {
        messages.println(engine.label() + " is left out: " + obstacle.get());
      }
    }
    if (runnable.isEmpty()) {
      throw new IllegalArgumentException("no engine is left to run");
    }
    return runnable;
  }

  /** The version of Spark if the user chose none. */
  static String spark(List<Engine> engines, String otherwise) {
    return engines.stream().anyMatch(engine -> engine.peer().isPresent()) ? Peer.SPARK : otherwise;
  }

  /**
   * Settings that one of {@code engines} needs and that all get: else they would not do the same work, or not have the
   * same memory. Off-heap memory is half of an executor's heap.
   */
  static Map<String, String> shared(List<Engine> engines, Master master, int defaultMib) {
    Map<String, String> shared = new LinkedHashMap<>();
    engines.forEach(engine -> engine.peer().ifPresent(peer -> shared.putAll(peer.needs())));
    if (shared.containsKey(Peer.OFF_HEAP)) {
      shared.put(OFF_HEAP_SIZE, master.executorMemoryMib().orElse(defaultMib) / 2 + "m");
    }
    return shared;
  }

  /**
   * Servers are on this machine's loopback and take their part of executors' memory, whose number must be known.
   *
   * @throws IllegalArgumentException if {@code engines} have some and {@code master} is elsewhere
   */
  static void checkMaster(List<Engine> engines, Master master, boolean onHosts) {
    engines.stream().filter(engine -> engine.peer().filter(Peer::hasServers).isPresent()).findFirst()
        .filter(engine -> onHosts || master.executors().isEmpty()).ifPresent(engine -> {
          throw new IllegalArgumentException("the engine " + engine.label() + " has servers on this host, beside "
              + "executors of local-cluster: leave out --cluster, and --master local[…] and those of other hosts");
        });
  }
}
