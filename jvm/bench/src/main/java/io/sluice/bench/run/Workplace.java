package io.sluice.bench.run;

import io.sluice.bench.tables.Benchmark;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Where things are in a checkout. Everything that is written goes below {@code build/}.
 *
 * @param root the checkout
 * @param sluiceJar the product
 * @param oldSluiceJar another build of it, for the engine {@code sluice-old}; null unless the user named one
 * @param peers what the engines of other projects run with
 */
public record Workplace(Path root, Path sluiceJar, Path oldSluiceJar, Peers peers) {

  /** The checkout whose {@code ./sluice} started this process; the script passes paths in the environment. */
  public static Workplace current() {
    String root = System.getenv("SLUICE_ROOT");
    String jar = System.getenv("SLUICE_JAR");
    if (root == null || jar == null) {
      throw new IllegalStateException(
          "SLUICE_ROOT and SLUICE_JAR are not set: start this with ./sluice bench or ./sluice demo");
    }
    return new Workplace(Path.of(root), Path.of(jar), null, Peers.NONE);
  }

  /** The same with {@code oldJar} for the engine {@code sluice-old}; it may be null. */
  public Workplace with(Path oldJar, Peers ofOthers) {
    return new Workplace(root, sluiceJar, oldJar, ofOthers);
  }

  /** The jars of {@code engine}: the build of Sluice that it runs on, if any, and that of its peer. */
  List<Path> jarsOf(Engine engine) {
    List<Path> jars = new ArrayList<>();
    switch (engine.jar()) {
      case NONE -> {}
      case CURRENT -> jars.add(sluiceJar);
      case OLD -> jars.add(Objects.requireNonNull(oldSluiceJar, "no jar for " + engine.label()));
    }
    engine.peer().ifPresent(peer -> jars.addAll(Objects.requireNonNull(peers.jars().get(peer), "no jar for " + peer)));
    return jars;
  }

  public Path benchJar() {
    return root.resolve("build/sluice-bench.jar");
  }

  public Path logs() {
    return root.resolve("build/logs");
  }

  /** Where the generated tables of {@code benchmark} are kept for later runs. */
  public Path tables(Benchmark benchmark) {
    return root.resolve("build").resolve(benchmark.label());
  }

  /** Where one driver process keeps its Spark home, workers and shuffle files. */
  public Path run(String name) {
    return root.resolve("build/run").resolve(name + "-" + ProcessHandle.current().pid());
  }

  /**
   * The jars of a Spark version, copied from the local Maven repository (or fetched) if they are not there yet.
   *
   * @param version as the user gives it: {@code 4.2.0}, {@code 3.5}, {@code 3.5.8-2.13}
   */
  public SparkHome sparkHome(String version) {
    return SparkHome.at(Path.of(sluice("no Spark " + version, List.of("spark-home", version))));
  }

  /** The jars of {@code peer} that are published for {@code home}, fetched if they are not there yet. */
  public List<Path> peerJars(Peer peer, SparkHome home) {
    return sluice("no jar of " + peer.label(), List.of("peer-jars", peer.label(), home.line())).lines().map(Path::of)
        .toList();
  }

  /**
   * Runs {@code ./sluice} and returns what it prints; its messages go where this process's go.
   *
   * @throws IllegalStateException that says {@code failure} if it fails
   */
  public String sluice(String failure, List<String> arguments) {
    List<String> command = new ArrayList<>(List.of(root.resolve("sluice").toString()));
    command.addAll(arguments);
    try {
      Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
      if (process.waitFor() != 0) {
        throw new IllegalStateException(failure + " (see the message above)");
      }
      return output;
    } catch (IOException e) {
      throw new UncheckedIOException("./sluice " + arguments.get(0) + " cannot be run", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while waiting for ./sluice " + arguments.get(0), e);
    }
  }
}
