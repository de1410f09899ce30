package io.sluice.doctor.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.Verdict;
import io.sluice.doctor.host.FakeHost;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A GPU of 80 GiB, and settings of Sluice and RAPIDS. */
class GpuSharesCheckTest {
  private static final String HOME = "/opt/spark";
  private static final String BOTH =
      "spark.plugins com.nvidia.spark.SQLPlugin,io.sluice.spark.SluicePlugin\nspark.sluice.gpu auto\n";

  @TempDir private Path root;
  private FakeHost host;

  @BeforeEach
  void makeHost() {
    host = FakeHost.ordinary(root);
    host.command("nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits", "81920\n81920\n");
  }

  private List<Finding> look(String settings) {
    host.with(HOME + "/conf/spark-defaults.conf", settings);
    return new GpuSharesCheck(HOME).look(host);
  }

  private void assertSays(Verdict verdict, String text, String settings) {
    List<Finding> findings = look(settings);
    assertEquals(1, findings.size());
    assertEquals(verdict, findings.get(0).verdict(), findings::toString);
    assertTrue(findings.get(0).text().contains(text), findings::toString);
  }

  @Test
  void whereSluiceUsesNoGpuThereIsNothingToSay() {
    assertEquals(List.of(), new GpuSharesCheck("").look(host));
    assertEquals(List.of(), look("spark.plugins com.nvidia.spark.SQLPlugin\nspark.sluice.gpu off\n"));
  }

  @Test
  void sluiceAloneHasItsLimit() {
    assertSays(Verdict.OK, "at most 10 GiB of 80 GiB", "spark.sluice.gpu on\n");
    assertSays(Verdict.OK, "at most 12 GiB of", "spark.sluice.gpu on\nspark.sluice.gpu.cache.limit 2g\n");
    assertSays(Verdict.OK, "at most 4 GiB of",
        "spark.sluice.gpu on\nspark.sluice.gpu.memory.limit 4g\nspark.sluice.gpu.cache.limit 2g\n");
    assertSays(Verdict.OK, "at most 40 GiB of", "spark.sluice.gpu on\nspark.sluice.gpu.memory.limit 64g\n");
  }

  @Test
  void aPoolOfAllMemoryLeavesSluiceNone() {
    assertSays(Verdict.WARNING, "RAPIDS' pool (ASYNC) 78.9 GiB by spark.rapids.memory.gpu.allocFraction=1.0", BOTH);
    assertEquals("spark.rapids.memory.gpu.allocFraction  0.87, or a smaller spark.sluice.gpu.memory.limit",
        look(BOTH).get(0).next());
    assertSays(Verdict.OK, "(ASYNC) 69.2 GiB", BOTH + "spark.rapids.memory.gpu.allocFraction 0.87\n");
    assertSays(Verdict.WARNING, "(ARENA)",
        BOTH + "spark.rapids.memory.gpu.pool arena\nspark.rapids.memory.gpu.maxAllocFraction 0.9\n");
  }

  @Test
  void otherWaysToShareAreRight() {
    assertSays(Verdict.OK, "no pool", BOTH + "spark.rapids.memory.gpu.pool NONE\n");
    assertSays(Verdict.OK, "68 GiB", BOTH + "spark.rapids.memory.gpu.reserve 11.5g\n"
        .replace("11.5g", Long.toString((11L << 30) + (1L << 29))));
    assertSays(Verdict.WARNING, "allocFraction=1.0", BOTH + "spark.rapids.memory.gpu.allocFraction most\n");
  }

  @Test
  void theSmallestGpuCounts() {
    host.command("nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits", "81920\n16384\n");
    assertSays(Verdict.OK, "at most 2 GiB of 16 GiB", "spark.sluice.gpu on\n");
  }

  @Test
  void memoryThatIsNotToldIsSaid() {
    host.command("nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits", "[N/A]\n");
    assertSays(Verdict.NOTE, "did not say", BOTH);
  }
}
