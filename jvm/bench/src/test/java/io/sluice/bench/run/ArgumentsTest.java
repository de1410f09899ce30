package io.sluice.bench.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

class ArgumentsTest {

  @Test
  void settingsSplitAtTheFirstEqualsSignAndTheLastOfAKeyWins() {
    assertEquals(Map.of("spark.a", "2", "spark.b", "-Dx=y"),
        SparkConfArguments.parse(List.of("spark.a=1", "spark.b=-Dx=y", "spark.a=2")));
  }

  @Test
  void settingsThatAreNotSparksAreRefused() {
    for (String wrong : List.of("spark.a", "=1", "sluice.mode=UCX", "")) {
      assertThrows(IllegalArgumentException.class, () -> SparkConfArguments.parse(List.of(wrong)), wrong);
    }
  }

  @Test
  void localClusterWithoutMemoryGetsTheDefault() {
    assertEquals(new Master("local-cluster[2,1,4096]", OptionalInt.of(4096), 1024),
        Master.parse("local-cluster[2, 1]", 4096));
    assertEquals(new Master("local-cluster[3,2,512]", OptionalInt.of(512), 1024),
        Master.parse("local-cluster[3,2,512]", 4096));
  }

  @Test
  void otherMastersAreSparksBusiness() {
    assertEquals(new Master("local[4]", OptionalInt.empty(), 4096), Master.parse("local[4]", 4096));
    assertEquals(new Master("spark://host:7077", OptionalInt.empty(), 1024), Master.parse("spark://host:7077", 4096));
    assertThrows(IllegalArgumentException.class, () -> Master.parse("local-cluster[2]", 4096));
  }

  @Test
  void unknownEnginesAreRefusedWithTheKnownOnes() {
    assertEquals(Engine.SLUICE, Engine.find("sluice"));
    String message = assertThrows(IllegalArgumentException.class, () -> Engine.find("fast")).getMessage();
    assertTrue(message.contains("stock, sluice"), message);
  }

  @Test
  void sizesAreDecimal() {
    assertEquals(1_000_000_000L, DataSize.parse("1g").bytes());
    assertEquals(2_500_000L, DataSize.parse("2.5MB").bytes());
    assertEquals(512L, DataSize.parse("512").bytes());
    for (String wrong : List.of("", "g", "-1g", "1 parsec", "0", "99999999t")) {
      assertThrows(IllegalArgumentException.class, () -> DataSize.parse(wrong), wrong);
    }
  }

  @Test
  void aSparkHomesVersionsAreInItsName() {
    SparkHome home = SparkHome.at(Path.of("/x/3.5.8-2.12"));
    assertEquals("3.5.8", home.sparkVersion());
    assertEquals("2.12", home.scalaVersion());
    assertThrows(IllegalArgumentException.class, () -> SparkHome.at(Path.of("/x/spark")));
  }
}
