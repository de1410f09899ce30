package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.DataStreamWriter;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import scala.Tuple3;
import scala.collection.Iterator;

import scala.collection.Iterator$;

/**
 * {@code transformWithState} on a stream: stock's rows, also where Sluice continues from stock's checkpoint and stock
 * from Sluice's. Compiled for Spark 4 only; Spark 3 has no such operator.
 */
@InAll
@Timeout(300)
class TransformWithStateTest {
  private static final String NAME = "transformWithState";
  private static final int FILES = 3;

  @TempDir private Path folder;

  /** For each key the sum of its ids so far, and how many of them have the most frequent remainder. */
  private static final class Totals extends StatefulProcessor<Long, Row, Tuple3<Long, Long, Long>> {
    private static final long serialVersionUID = 1;
    private transient ValueState<Long> total;
    private transient MapState<Long, Long> rowsByRemainder;

    @Override
    public void init(OutputMode outputMode, TimeMode timeMode) {
      total = getHandle().getValueState("total", Encoders.LONG(), TTLConfig.NONE());
      rowsByRemainder = getHandle().getMapState("rows", Encoders.LONG(), Encoders.LONG(), TTLConfig.NONE());
    }

    @Override
    public Iterator<Tuple3<Long, Long, Long>> handleInputRows(Long key, Iterator<Row> rows, TimerValues timers) {
      long sum = total.exists() ? total.get() : 0;
      while (rows.hasNext()) {
        long id = rows.next().getLong(0);
        sum += id;
        long before = rowsByRemainder.containsKey(id % 3) ? rowsByRemainder.getValue(id % 3) : 0;
        rowsByRemainder.updateValue(id % 3, before + 1);
      }
      total.update(sum);
      long most = 0;
      for (Iterator<Long> counts = rowsByRemainder.values(); counts.hasNext();) {
        most = Math.max(most, counts.next());
      }
      return Iterator$.MODULE$.single(new Tuple3<>(key, sum, most));
    }
  }

  private static DataStreamWriter<Row> totals(Dataset<Row> events) {
    MapFunction<Row, Long> key = row -> row.getLong(1);
    return events.groupByKey(key, Encoders.LONG())
        .transformWithState(new Totals(), TimeMode.None(), OutputMode.Update(),
            Encoders.tuple(Encoders.LONG(), Encoders.LONG(), Encoders.LONG()))
        .toDF("k", "total", "most").writeStream().outputMode(OutputMode.Update());
  }

  /** The rows of all batches, without their numbers: one run after the other, each with its share of the files. */
  private List<String> rows(String name, List<Engine> engines) throws IOException {
    Path input = folder.resolve(name).resolve("input");
    int files = FILES / engines.size();
    List<String> rows = new ArrayList<>();
    for (int run = 0; run < engines.size(); run++) {
      Streams.addFiles(input, run * files, (run + 1) * files);
      try (SparkApplication application = StreamingTest.application(engines.get(run))
          .set("spark.sql.streaming.stateStore.providerClass",
              "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
          .start()) {
        rows.addAll(Streams.run(application.session(), Map.of(NAME, TransformWithStateTest::totals), input,
            folder.resolve(name).resolve("checkpoints")).get(NAME));
        if (engines.get(run) != Engine.STOCK && Engine.writesFrames()) {
          assertTrue(ProcessCounters.here(Counter.SHUFFLES_ROWS) > 0, "Sluice has carried no shuffle");
          assertEquals(0, ProcessCounters.here(Counter.SHUFFLES_STOCK));
          NativeMemory.assertAllReturned();
        }
      }
    }
    return rows.stream().map(row -> row.substring(row.indexOf(' '))).sorted().collect(Collectors.toList());
  }

  @Test
  void eitherEngineContinuesFromTheOthersState() throws IOException {
    List<String> expected = rows("stock", List.of(Engine.STOCK));
    assertTrue(expected.size() > 100, expected::toString);
    assertEquals(expected, rows("sluice", List.of(Engine.UNDER_TEST)));
    assertEquals(expected, rows("mixed", List.of(Engine.STOCK, Engine.UNDER_TEST, Engine.STOCK)));
  }
}
