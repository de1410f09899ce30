package io.sluice.bench.run;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What engines of other projects run with.
 *
 * @param jars for the class paths of drivers and executors
 * @param homes the distributions of those that have servers
 */
public record Peers(Map<Peer, List<Path>> jars, Map<Peer, Path> homes) {

  /** For engines of our own and Spark's. */
  public static final Peers NONE = new Peers(Map.of(), Map.of());

  /** What a distribution has that servers are started from; as the projects' own scripts expect them. */
  private static final Map<Peer, List<String>> SERVER_FOLDERS = Map.of(
      Peer.CELEBORN, List.of("master-jars", "worker-jars"),
      Peer.UNIFFLE, List.of("jars/coordinator", "jars/server"));
  private static final Map<Peer, String> CLIENT_FOLDER = Map.of(
      Peer.CELEBORN, "spark", Peer.UNIFFLE, "jars/client/spark3");

  /**
   * Checks what the user gave for {@code engines}, without looking into the files.
   *
   * @throws IllegalArgumentException for what no engine needs, for paths that are not there, and for an engine whose
   *     servers nobody has named
   */
  public void check(Collection<Engine> engines) {
    Set<Peer> wanted = wanted(engines);
    refuse("--peer-jar", jars.keySet(), wanted);
    refuse("--peer-home", homes.keySet(), wanted);
    jars.forEach((peer, paths) -> paths.stream().filter(jar -> !Files.isRegularFile(jar)).findFirst()
        .ifPresent(jar -> {
          throw new IllegalArgumentException("--peer-jar " + peer.label() + "=" + jar + ": there is no such file");
        }));
    for (Peer peer : wanted) {
      if (peer.hasServers()) {
        checkHome(peer, homes.get(peer));
      }
    }
  }

  private static void refuse(String option, Set<Peer> given, Set<Peer> wanted) {
    given.stream().filter(peer -> !wanted.contains(peer)).findFirst().ifPresent(peer -> {
      throw new IllegalArgumentException(option + " " + peer.label() + " is for none of the engines");
    });
  }

  private static void checkHome(Peer peer, Path home) {
    if (home == null) {
      throw new IllegalArgumentException("the engine " + peer.label() + " needs its servers, which no registry of jars "
          + "has: --peer-home " + peer.label() + "=DIR, the folder of an unpacked binary distribution");
    }
    for (String folder : SERVER_FOLDERS.get(peer)) {
      if (PeerServers.jars(home.resolve(folder)).isEmpty()) {
        throw new IllegalArgumentException("--peer-home " + peer.label() + "=" + home + ": no jars in " + folder
            + ", so this is no binary distribution of " + peer.label());
      }
    }
  }

  private static Set<Peer> wanted(Collection<Engine> engines) {
    return engines.stream().flatMap(engine -> engine.peer().stream())
        .collect(Collectors.toCollection(() -> EnumSet.noneOf(Peer.class)));
  }

  /** Why {@code peer} cannot run on this machine, with what the user gave; nothing if it can. */
  public Optional<String> obstacle(Peer peer, Path deviceFolder) {
    if (peer == Peer.RAPIDS && !Files.exists(deviceFolder.resolve("nvidiactl"))) {
      return Optional.of("it needs an NVIDIA GPU with its driver, and this machine has no " + deviceFolder.resolve(
          "nvidiactl"));
    }
    if (peer.published().isEmpty() && !jars.containsKey(peer)) {
      return Optional.of("./sluice knows no published jar of it; give --peer-jar " + peer.label() + "=JAR");
    }
    return Optional.empty();
  }

  /**
   * With a jar for every peer of {@code engines}: the user's, else the client in the peer's distribution, else a
   * published one.
   *
   * @param fetch gives the published jars for a line that {@link Peer#published} has
   * @throws IllegalArgumentException if there is none, or one is for another Spark or Scala
   */
  public Peers complete(Collection<Engine> engines, SparkHome home, BiFunction<Peer, SparkHome, List<Path>> fetch) {
    Map<Peer, List<Path>> all = new EnumMap<>(Peer.class);
    for (Peer peer : wanted(engines)) {
      List<Path> found = jars.containsKey(peer) ? jars.get(peer) : client(peer, home);
      if (found.isEmpty()) {
        if (!peer.published().contains(home.line())) {
          throw new IllegalArgumentException("./sluice knows no published jar of " + peer.label() + " for Spark "
              + home.line() + ": give --peer-jar " + peer.label() + "=JAR"
              + (peer.published().isEmpty() ? "" : ", or --spark " + String.join(" or ", peer.published())));
        }
        found = fetch.apply(peer, home);
      }
      found.forEach(jar -> PeerJar.check(peer.label(), jar, home));
      all.put(peer, found.stream().map(Path::toAbsolutePath).toList());
    }
    return new Peers(all, homes);
  }

  /** The client in the peer's distribution that fits {@code home}, if there is one. */
  private List<Path> client(Peer peer, SparkHome home) {
    if (!homes.containsKey(peer)) {
      return List.of();
    }
    Stream<Path> clients = PeerServers.jars(homes.get(peer).resolve(CLIENT_FOLDER.get(peer))).stream()
        .filter(jar -> PeerJar.fits(peer.label(), jar, home));
    return clients.limit(1).toList();
  }
}
