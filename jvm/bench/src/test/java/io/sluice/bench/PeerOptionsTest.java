package io.sluice.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.run.Engine;
import io.sluice.bench.run.Master;
import io.sluice.bench.run.Peers;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PeerOptionsTest {

  private static final Master CLUSTER = Master.parse("local-cluster[2,1]", 4096);

  @Test
  void whatOneEngineNeedsAllGet() {
    assertEquals(Map.of(), PeerOptions.shared(List.of(Engine.STOCK, Engine.SLUICE), CLUSTER, 4096));
    assertEquals(Map.of("spark.memory.offHeap.enabled", "true", "spark.memory.offHeap.size", "2048m"),
        PeerOptions.shared(List.of(Engine.STOCK, Engine.COMET_SLUICE), CLUSTER, 4096));
    assertEquals(Map.of("spark.serializer", "org.apache.spark.serializer.KryoSerializer"),
        PeerOptions.shared(List.of(Engine.STOCK, Engine.CELEBORN, Engine.UNIFFLE), CLUSTER, 4096));
  }

  @Test
  void enginesOfOtherProjectsRunOnALineThatTheyHave() {
    assertEquals("4.2.0", PeerOptions.spark(List.of(Engine.STOCK, Engine.SLUICE), "4.2.0"));
    assertEquals("3.5.8-2.12", PeerOptions.spark(List.of(Engine.STOCK, Engine.COMET), "4.2.0"));
  }

  @Test
  void enginesThatCannotRunAreLeftOutWithTheReason() {
    StringWriter messages = new StringWriter();
    assertEquals(List.of(Engine.STOCK, Engine.COMET), PeerOptions.runnable(
        List.of(Engine.STOCK, Engine.COMET, Engine.GLUTEN), Peers.NONE, new PrintWriter(messages, true)));
    assertEquals("gluten is left out: ./sluice knows no published jar of it; give --peer-jar gluten=JAR\n",
        messages.toString());
  }

  @Test
  void serversNeedExecutorsOfThisHost() {
    List<Engine> engines = List.of(Engine.STOCK, Engine.UNIFFLE);
    PeerOptions.checkMaster(engines, CLUSTER, false);
    PeerOptions.checkMaster(List.of(Engine.STOCK, Engine.COMET), CLUSTER, true);
    assertTrue(assertThrows(IllegalArgumentException.class, () -> PeerOptions.checkMaster(engines, CLUSTER, true))
        .getMessage().startsWith("the engine uniffle has servers on this host"));
    assertThrows(IllegalArgumentException.class,
        () -> PeerOptions.checkMaster(engines, Master.parse("local[2]", 4096), false));
  }
}
