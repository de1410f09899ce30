package io.sluice.spark.conf;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SimilarNameTest {
  @ParameterizedTest
  @CsvSource({"spark.sluice.memory.limt, spark.sluice.memory.limit",
    "spark.sluice.Memory.Limit, spark.sluice.memory.limit",
    "spark.sluice.enabeld, spark.sluice.enabled", "spark.sluice.enable, spark.sluice.enabled",
    "spark.sluice.enabledXXX, spark.sluice.enabled", "spark.sluice.enabledXXXX, ", "spark.sluice., ", "'', "})
  void theNearestOfThreeChangesAtMost(String name, String meant) {
    assertEquals(Optional.ofNullable(meant),
        SimilarName.of(name, List.of("spark.sluice.memory.limit", "spark.sluice.enabled", "spark.sluice.mode")));
  }
}
