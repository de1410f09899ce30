package io.sluice.bench.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.jar.JarOutputStream;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.ZipEntry;
import org.apache.celeborn.service.deploy.master.Master;
import org.apache.celeborn.service.deploy.worker.Worker;
import org.apache.uniffle.coordinator.CoordinatorServer;
import org.apache.uniffle.server.ShuffleServer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Servers are started as their projects do it, in order, and ended; programs of the same names stand in for them. */
class PeerServersTest {

  @TempDir private Path folder;

  @Test
  void celebornsWorkerFindsItsMasterAndTheApplicationToo() throws IOException {
    jar("master-jars", Master.class);
    jar("worker-jars", Worker.class);
    List<ProcessHandle> processes;
    try (PeerServers servers = PeerServers.start(Peer.CELEBORN, place())) {
      processes = servers.processes();
      String endpoint = servers.settings().get("spark.celeborn.master.endpoints");
      assertEquals(Map.of("spark.celeborn.master.endpoints", endpoint, "spark.executor.memory", "3072m"),
          servers.settings());
      assertEquals("127.0.0.1", servers.environment().get("CELEBORN_LOCAL_HOSTNAME"));
      assertTrue(log("celeborn-master").contains("--port " + endpoint.substring("127.0.0.1:".length())));
      assertTrue(log("celeborn-worker").contains("celeborn://" + endpoint));
      assertTrue(log("celeborn-worker").contains(
          "celeborn.worker.storage.dirs " + folder.resolve("servers/data") + ":disktype=SSD"));
      assertEquals(2, different("http.port (\\d+)", log("celeborn-master")));
      assertEquals(2, processes.size());
      assertTrue(processes.stream().allMatch(ProcessHandle::isAlive));
    }
    assertFalse(processes.stream().anyMatch(ProcessHandle::isAlive));
  }

  @Test
  void unifflesServerFindsItsCoordinatorAndTheApplicationToo() throws IOException {
    jar("jars/coordinator", CoordinatorServer.class);
    jar("jars/server", ShuffleServer.class);
    try (PeerServers servers = PeerServers.start(Peer.UNIFFLE, place())) {
      String quorum = servers.settings().get("spark.rss.coordinator.quorum");
      assertTrue(log("uniffle-coordinator").contains(
          "rss.rpc.server.port " + quorum.substring("127.0.0.1:".length()) + "\n"));
      assertTrue(log("uniffle-server").contains("rss.coordinator.quorum " + quorum + "\n"));
      assertEquals(3, different("port (\\d+)", log("uniffle-server")));
    }
  }

  @Test
  void oneThatDoesNotStartFailsAndLeavesNoOther() throws IOException {
    jar("master-jars", Master.class);
    jar("worker-jars");
    EngineFailure failure =
        assertThrows(EngineFailure.class, () -> PeerServers.start(Peer.CELEBORN, place()).close());
    assertTrue(failure.getMessage().startsWith("celeborn-worker has ended with status 1 (log: "), failure.getMessage());
    assertTrue(ProcessHandle.current().children().noneMatch(child -> child.info().commandLine().orElse("")
        .contains(folder.toString())), "a server is left");
  }

  private PeerServers.Place place() {
    return new PeerServers.Place(folder, folder.resolve("servers"),
        io.sluice.bench.run.Master.parse("local-cluster[2,1]", 4096), List.of(),
        SparkHome.at(folder.resolve("3.5.8-2.12")), Path.of("target/classes").toAbsolutePath());
  }

  private String log(String name) throws IOException {
    return Files.readString(folder.resolve("servers").resolve(name + ".log"));
  }

  private static long different(String pattern, String text) {
    Matcher matcher = Pattern.compile(pattern).matcher(text);
    return matcher.results().map(found -> found.group(1)).distinct().count();
  }

  private void jar(String place, Class<?>... classes) throws IOException {
    Path jar = folder.resolve(place).resolve("a.jar");
    Files.createDirectories(jar.getParent());
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar))) {
      for (Class<?> each : List.of(classes)) {
        add(out, each);
        add(out, StubServer.class);
      }
    }
  }

  private static void add(JarOutputStream out, Class<?> each) throws IOException {
    String name = each.getName().replace('.', '/') + ".class";
    out.putNextEntry(new ZipEntry(name));
    out.write(each.getResourceAsStream("/" + name).readAllBytes());
  }
}
