package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.metrics.Counter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.SparkEnv;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Random jobs on RDDs give stock's records or stock's exception: keys and values of many classes, orders and
 * partitioners of the job's own, also such that throw or contradict themselves, with memory and without, where tasks
 * fail in the middle. A failure names the program's number: {@code -Dsystemtests.program=<number>} runs that program
 * alone. {@code ./sluice test --all} runs more ({@code -Dsystemtests.executions=<count>}).
 */
@Tag("deep")
@Timeout(1200)
class GeneratedRddsTest {
  /** Every operation with each serializer and each amount of memory. */
  private static final int PROGRAMS = 72;
  private static final int EXECUTIONS = Integer.getInteger("systemtests.executions", 300);
  private static final String SPILL = "spark.shuffle.spill.numElementsForceSpillThreshold";
  /** Some 3 MB for all tasks, and tables are counted from 64 KiB on. */
  private static final Map<String, String> LITTLE_MEMORY = Map.of("spark.testing.memory", Long.toString(64 << 20),
      "spark.testing.reservedMemory", "0", "spark.memory.fraction", "0.05",
      "spark.shuffle.spill.initialMemoryThreshold", "64k");
  /** What the programs must bring about. */
  private static final List<Counter> SEEN = Arrays.asList(Counter.WRITE_RECORDS_SERIALIZED, Counter.WRITE_RANGES_PROVEN,
      Counter.READ_RUNS_PROVEN, Counter.READ_RUNS_REFUTED, Counter.READ_PARTITIONS_SORTED_AS_ROWS,
      Counter.READ_PARTITIONS_SORTED_AS_OBJECTS, Counter.READ_PARTITIONS_COMBINED_AS_ROWS);

  private final Map<Integer, RddOutcome> expected = new HashMap<>();
  private final Map<Counter, Long> seen = new EnumMap<>(Counter.class);
  private final List<String> differences = new ArrayList<>();
  private int failed;

  @Test
  void resultsAreStocks() {
    Integer one = Integer.getInteger("systemtests.program");
    assertStocks(one != null ? Collections.singletonList(new GeneratedRdd(one)) : programs(0, PROGRAMS));
    if (one == null) {
      assertTrue(failed > PROGRAMS / 20, () -> "only " + failed + " programs failed as on stock");
      if (Engine.writesFrames()) {
        SEEN.forEach(counter -> assertTrue(seen.getOrDefault(counter, 0L) > 0, () -> counter.id() + " in " + seen));
      }
    }
  }

  @InAll
  @Test
  void resultsOfManyMoreAreStocks() {
    assertStocks(programs(PROGRAMS, PROGRAMS + EXECUTIONS));
  }

  private static List<GeneratedRdd> programs(int from, int until) {
    return IntStream.range(from, until).mapToObj(GeneratedRdd::new).collect(Collectors.toList());
  }

  private void assertStocks(List<GeneratedRdd> programs) {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "stock is the reference");
    for (boolean kryo : new boolean[] {false, true}) {
      List<GeneratedRdd> some = programs.stream().filter(each -> each.kryo() == kryo).collect(Collectors.toList());
      onStock(some, kryo);
      for (boolean little : new boolean[] {false, true}) {
        onSluice(some.stream().filter(each -> little == (each.memory() == GeneratedRdd.Memory.LITTLE))
            .collect(Collectors.toList()), kryo, little);
      }
    }
    assertTrue(differences.isEmpty(), () -> differences.size() + " of " + programs.size() + " programs are not as on "
        + "stock:\n" + String.join("\n", differences));
  }

  /** Tasks may fail once. */
  private static SparkApplication start(Engine engine, boolean kryo, boolean little) {
    SparkApplication.Builder builder = SparkApplication.on(engine).master("local[2,2]")
        .set("spark.serializer", "org.apache.spark.serializer." + (kryo ? "KryoSerializer" : "JavaSerializer"));
    return (little ? builder.setAll(LITTLE_MEMORY) : builder).start();
  }

  private void onStock(List<GeneratedRdd> programs, boolean kryo) {
    if (!programs.isEmpty()) {
      try (SparkApplication stock = start(Engine.STOCK, kryo, false)) {
        programs.forEach(program -> expected.put(program.number(), program.on(stock.context(), false)));
      }
    }
  }

  private void onSluice(List<GeneratedRdd> programs, boolean kryo, boolean little) {
    if (programs.isEmpty()) {
      return;
    }
    try (SparkApplication application = start(Engine.UNDER_TEST, kryo, little)) {
      programs.forEach(program -> assertSame(program, application));
      if (Engine.writesFrames()) {
        SEEN.forEach(counter -> seen.merge(counter, ProcessCounters.here(counter), Long::sum));
      }
    }
  }

  private void assertSame(GeneratedRdd program, SparkApplication application) {
    // Driver and executor share this object; sorters and hash tables read it when they are made. Where it is set at
    // all, Sluice leaves hash tables to Spark.
    if (program.memory() == GeneratedRdd.Memory.FORCED_SPILLS) {
      SparkEnv.get().conf().set(SPILL, "50");
    } else {
      SparkEnv.get().conf().remove(SPILL);
    }
    RddOutcome stocks = expected.get(program.number());
    RddOutcome sluices = program.on(application.context(), true);
    if (!stocks.foundNoOrder() && !sluices.foundNoOrder()) {
      stocks.difference(sluices, program.defined()).ifPresent(text -> differences.add(program + ": " + text));
    }
    failed += stocks.failed() ? 1 : 0;
    NativeMemory.assertAllReturned();
  }
}
