package io.sluice.bench.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.protocol.StageCosts;
import io.sluice.spark.events.StageSummary;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

class CostAccountingTest {

  private static Map<ThreadRole, ThreadTimes> spent(ThreadTimes task) {
    Map<ThreadRole, ThreadTimes> spent = new EnumMap<>(ThreadRole.class);
    for (ThreadRole role : ThreadRole.values()) {
      spent.put(role, new ThreadTimes(0.1, 0.01, 0));
    }
    spent.put(ThreadRole.TASK, task);
    return spent;
  }

  /** Of tasks that ran for five seconds. */
  private static TaskMetrics metrics(long fetchMs, long gcMs) {
    TaskMetrics metrics = new TaskMetrics();
    metrics.setExecutorRunTime(4_800);
    metrics.setExecutorDeserializeTime(200);
    metrics.setJvmGCTime(gcMs);
    metrics.shuffleReadMetrics().setFetchWaitTime(fetchMs);
    metrics.shuffleReadMetrics().setRecordsRead(1_000);
    return metrics;
  }

  @Test
  void waitingIsDividedByWhatTasksWaitedFor() {
    StageCosts costs = CostAccounting.costs("reduce", metrics(300, 100), spent(new ThreadTimes(3, 1, 0.75)));
    assertEquals(1_000, costs.rows());
    assertEquals(2, costs.waitS(), 1e-9);
    assertEquals(0.75, costs.waitCoreS(), 1e-9);
    assertEquals(0.1, costs.waitGcS(), 1e-9);
    assertEquals(0.3, costs.waitFetchS(), 1e-9);
    assertEquals(0.85, costs.waitOtherS(), 1e-9);
    assertEquals(3 + 5 * 0.1, costs.cpuS(), 1e-9);
    assertEquals(1 + 5 * 0.01, costs.kernelS(), 1e-9);
  }

  @Test
  void partsAreNeverMoreThanTheWhole() {
    StageCosts costs = CostAccounting.costs("reduce", metrics(900, 800), spent(new ThreadTimes(4, 0, 0.5)));
    assertEquals(1, costs.waitS(), 1e-9);
    assertEquals(0.5, costs.waitCoreS(), 1e-9);
    assertEquals(0.5, costs.waitGcS(), 1e-9);
    assertEquals(0, costs.waitFetchS(), 1e-9);
    assertEquals(0, costs.waitOtherS(), 1e-9);
  }

  @Test
  void whatTheKernelDoesNotTellIsNotGuessed() {
    StageCosts costs = CostAccounting.costs("reduce", metrics(300, 0), spent(new ThreadTimes(3, 0, Double.NaN)));
    assertNull(costs.waitCoreS());
    assertNull(costs.waitOtherS());
    assertEquals(0.3, costs.waitFetchS(), 1e-9);
  }

  @Test
  void timeInNativeCodeIsTakenFromTheTaskThreads() {
    StageCosts costs = CostAccounting.costs("map", metrics(0, 0), spent(new ThreadTimes(3, 0, 0)))
        .withInTask(1, 0.5, 0.25);
    assertEquals(1.25, costs.taskS(), 1e-9);
    assertEquals(1.1, costs.encoderS(), 1e-9);
    assertEquals(0.6, costs.decoderS(), 1e-9);
    assertEquals(0.25, costs.commitS(), 1e-9);
    assertEquals(3 + 5 * 0.1, costs.cpuS(), 1e-9);
  }

  @Test
  void sluicesEventOfAStageIsRead() {
    Map<String, Long> figures = Map.of("write.encodeByTaskCpuNanos", 2_000_000_000L, "read.decodeByTaskCpuNanos",
        1_500_000_000L, "write.encodeNanos", 9_000_000_000L);
    assertEquals(Optional.of(new InTaskCpu(7, 2, 1.5, 0)), InTaskCpu.of(new StageSummary(7, figures)));
    assertEquals(Optional.empty(), InTaskCpu.of(new SparkListenerEvent() {}));
  }

  /** Two stages run; Sluice's events of them come after both. */
  @Test
  @Timeout(120)
  void stagesOfAJobHaveTheirCosts() throws Exception {
    SparkConf conf = new SparkConf(false).setMaster("local[1]").setAppName("accounting")
        .set("spark.ui.enabled", "false").set("spark.driver.bindAddress", "127.0.0.1")
        .set("spark.driver.host", "127.0.0.1");
    CostAccounting accounting = new CostAccounting(() -> Stream.of(ProcessHandle.current()));
    try (JavaSparkContext context = new JavaSparkContext(conf)) {
      context.sc().addSparkListener(accounting);
      accounting.reset();
      context.parallelize(IntStream.range(0, 50_000).boxed().toList(), 2)
          .mapToPair(n -> new Tuple2<>(n % 1_000, "value " + n)).groupByKey(2).count();
      context.sc().listenerBus().post(new StageSummary(0, Map.of("write.encodeByTaskCpuNanos", 1_000_000L)));
      context.sc().listenerBus().post(new StageSummary(0, Map.of("write.encodeByTaskCpuNanos", 2_000_000L)));
      context.sc().listenerBus().post(new StageSummary(1, Map.of("read.decodeByTaskCpuNanos", 4_000_000L)));
      context.sc().listenerBus().waitUntilEmpty();
    }
    List<StageCosts> costs = accounting.costs();
    assertEquals(List.of(true, false), costs.stream().map(StageCosts::writes).toList());
    assertEquals(List.of(50_000L, 50_000L), costs.stream().map(StageCosts::rows).toList());
    assertEquals(0.003, costs.get(0).encoderS(), 1e-9);
    assertEquals(0, costs.get(0).decoderS());
    assertEquals(0, costs.get(1).encoderS());
    assertEquals(0.004, costs.get(1).decoderS(), 1e-9);
    for (StageCosts stage : costs) {
      assertTrue(stage.taskS() > 0, stage::toString);
      assertTrue(stage.cpuS() > stage.taskS() && stage.kernelS() <= stage.cpuS(), stage::toString);
    }
  }
}
