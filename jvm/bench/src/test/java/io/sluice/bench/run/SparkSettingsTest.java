package io.sluice.bench.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class SparkSettingsTest {

  private static final Site SITE = Site.of(Master.parse("local-cluster[2,1]", 4096));

  @Test
  void enginesDifferInNothingButTheirOwnSettingsJarsAndName() {
    Map<String, String> stock = settings(Engine.STOCK, Map.of());
    Map<String, String> sluice = new HashMap<>(settings(Engine.SLUICE, Map.of()));
    assertEquals("io.sluice.spark.SluiceShuffleManager", sluice.get("spark.shuffle.manager"));
    assertFalse(stock.containsKey("spark.shuffle.manager"));
    sluice.keySet().removeAll(Engine.SLUICE.settings().keySet());
    sluice.put("spark.app.name", stock.get("spark.app.name"));
    assertEquals(stock, sluice);
  }

  @Test
  void adaptiveExecutionIsOffUnlessAskedFor() {
    assertEquals("false", settings(Engine.STOCK, Map.of()).get("spark.sql.adaptive.enabled"));
    assertEquals("true", settings(Engine.STOCK, Map.of("spark.sql.adaptive.enabled", "true"))
        .get("spark.sql.adaptive.enabled"));
  }

  @Test
  void whatTheUserSetsIsNotTheBenchmarksOwn() {
    assertEquals(List.of("spark.sql.adaptive.enabled", "spark.sql.autoBroadcastJoinThreshold",
        "spark.sql.shuffle.partitions"), SparkSettings.ownKeys(Map.of()));
    assertEquals(List.of("spark.sql.autoBroadcastJoinThreshold", "spark.sql.shuffle.partitions"),
        SparkSettings.ownKeys(Map.of("spark.sql.adaptive.enabled", "false")));
  }

  @Test
  void localClusterExecutorsGetTheMastersMemory() {
    assertEquals("4096m", settings(Engine.STOCK, Map.of()).get("spark.executor.memory"));
  }

  @Test
  void whatTheSiteAsksForIsTheSameForAllEngines() {
    Site site = new Site(SITE.master(), null, Map.of("spark.cores.max", "3"), List.of(), null, null, null);
    for (Engine engine : Engine.values()) {
      assertEquals("3", SparkSettings.of(engine, site, List.of(), Path.of("/local"), Map.of()).get("spark.cores.max"));
    }
  }

  private static Map<String, String> settings(Engine engine, Map<String, String> user) {
    return SparkSettings.of(engine, SITE, List.of(Path.of("/bench.jar")), Path.of("/local"), user);
  }
}
