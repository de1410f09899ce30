package io.sluice.bench.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.jar.JarOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PeersTest {

  private static final SparkHome SPARK_35 = SparkHome.at(Path.of("/homes/3.5.8-2.12"));
  private static final SparkHome SPARK_42 = SparkHome.at(Path.of("/homes/4.2.0-2.13"));
  private static final List<Engine> WITH_CELEBORN = List.of(Engine.STOCK, Engine.CELEBORN);

  @TempDir private Path folder;

  @Test
  void aPublishedJarIsFetchedIfTheUserGivesNone() throws IOException {
    Path published = jar("published.jar");
    assertEquals(List.of(published), Peers.NONE.complete(List.of(Engine.COMET, Engine.COMET_SLUICE), SPARK_35,
        (peer, home) -> List.of(published)).jars().get(Peer.COMET));
    Path own = jar("own.jar");
    assertEquals(Map.of(Peer.COMET, List.of(own)), new Peers(Map.of(Peer.COMET, List.of(own)), Map.of())
        .complete(List.of(Engine.COMET), SPARK_35, PeersTest::nothing).jars());
    assertEquals(Map.of(), Peers.NONE.complete(List.of(Engine.STOCK, Engine.SLUICE), SPARK_42, PeersTest::nothing)
        .jars());
  }

  @Test
  void aLineWithoutAPublishedJarIsNamedWithThoseThatHaveOne() {
    assertEquals("./sluice knows no published jar of comet for Spark 4.2.0-2.13: give --peer-jar comet=JAR, or --spark "
        + "3.5.8-2.12 or 4.1.1-2.13",
        assertThrows(IllegalArgumentException.class,
            () -> Peers.NONE.complete(List.of(Engine.COMET), SPARK_42, PeersTest::nothing)).getMessage());
  }

  @Test
  void theClientOfADistributionGoesBeforeAPublishedOneIfItFits() throws IOException {
    Peers given = new Peers(Map.of(), Map.of(Peer.CELEBORN, celeborn()));
    given.check(WITH_CELEBORN);
    jar("celeborn/spark/celeborn-client-spark-3-shaded_2.13-0.6.3.jar");
    Path fitting = jar("celeborn/spark/celeborn-client-spark-3-shaded_2.12-0.6.3.jar");
    assertEquals(List.of(fitting), given.complete(WITH_CELEBORN, SPARK_35, PeersTest::nothing).jars()
        .get(Peer.CELEBORN));
    Files.delete(fitting);
    Path published = jar("published.jar");
    assertEquals(List.of(published), given.complete(WITH_CELEBORN, SPARK_35, (peer, home) -> List.of(published)).jars()
        .get(Peer.CELEBORN));
  }

  @Test
  void aJarOfAnotherSparkIsRefused() throws IOException {
    Path jar = jar("comet-spark-spark4.1_2.13-1.2.0.jar");
    Peers given = new Peers(Map.of(Peer.COMET, List.of(jar)), Map.of());
    given.check(List.of(Engine.COMET));
    assertTrue(assertThrows(IllegalArgumentException.class,
        () -> given.complete(List.of(Engine.COMET), SPARK_35, PeersTest::nothing)).getMessage()
        .contains("is for Spark 4.1 with Scala 2.13, and --spark is 3.5 with Scala 2.12"));
  }

  @Test
  void aDistributionWithoutServersIsRefused() throws IOException {
    Path home = celeborn();
    Files.delete(home.resolve("worker-jars/w.jar"));
    assertTrue(assertThrows(IllegalArgumentException.class,
        () -> new Peers(Map.of(), Map.of(Peer.CELEBORN, home)).check(WITH_CELEBORN)).getMessage()
        .contains("no jars in worker-jars, so this is no binary distribution of celeborn"));
  }

  @Test
  void whatCannotRunHereSaysWhy() throws IOException {
    Peers given = new Peers(Map.of(Peer.RAPIDS, List.of(jar("rapids.jar"))), Map.of());
    assertTrue(given.obstacle(Peer.RAPIDS, folder).orElseThrow().startsWith("it needs an NVIDIA GPU"));
    Files.createFile(folder.resolve("nvidiactl"));
    assertEquals(Optional.empty(), given.obstacle(Peer.RAPIDS, folder));
    assertEquals("./sluice knows no published jar of it; give --peer-jar gluten=JAR",
        given.obstacle(Peer.GLUTEN, folder).orElseThrow());
    assertEquals(Optional.empty(), given.obstacle(Peer.COMET, folder));
  }

  @Test
  void rapidsShuffleManagerIsThatOfTheSpark() {
    assertEquals("com.nvidia.spark.rapids.spark358.RapidsShuffleManager",
        Engine.RAPIDS.settingsOn(SPARK_35).get("spark.shuffle.manager"));
  }

  @Test
  void serversGetAQuarterOfTheExecutorsMemory() {
    PeerServers.Place place = new PeerServers.Place(folder, folder, Master.parse("local-cluster[2,1]", 4096), List.of(),
        SPARK_35, folder);
    assertEquals(2048, 256 + place.dataHeapMib() + place.dataDirectMib());
    assertTrue(place.dataDirectMib() > place.dataHeapMib());
    assertEquals(3072, place.executorMib());
  }

  private static List<Path> nothing(Peer peer, SparkHome home) {
    throw new AssertionError("nothing is to be fetched");
  }

  private Path celeborn() throws IOException {
    jar("celeborn/master-jars/m.jar");
    jar("celeborn/worker-jars/w.jar");
    return folder.resolve("celeborn");
  }

  private Path jar(String name) throws IOException {
    Path jar = folder.resolve(name);
    Files.createDirectories(jar.getParent());
    new JarOutputStream(Files.newOutputStream(jar)).close();
    return jar;
  }
}
