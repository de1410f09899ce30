package io.sluice.spark.columnar;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.NativeLibrary;
import io.sluice.spark.SluiceException;
import io.sluice.spark.columnar.TestVectors.Kind;
import io.sluice.spark.decode.FrameGroup;
import io.sluice.spark.decode.FrameReader;
import io.sluice.spark.decode.PlainFrames;
import io.sluice.spark.decode.ReaderMemory;
import io.sluice.spark.decode.TestBlocks;
import io.sluice.spark.decode.TestMemory;
import io.sluice.spark.fetch.FetchFailures;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ReadCounts;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Random;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.TaskKilledException;
import org.apache.spark.executor.TempShuffleReadMetrics;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.Option;

import org.apache.spark.TaskContext$;

class FrameBatchesTest {
  private static final StructType LONGS = new StructType().add("a", "long");

  private final TestMemory memory = new TestMemory();
  private final Counters counters = new Counters();
  private final TaskContextImpl context = TaskContext$.MODULE$.empty();
  private final TempShuffleReadMetrics metrics = context.taskMetrics().createTempShuffleReadMetrics();
  private final ReaderMemory reader = new ReaderMemory(memory, counters);
  private boolean insideTask = true;
  private TestBlocks blocks;

  @BeforeEach
  void load() {
    NativeLibrary.Status library = NativeLibrary.load("");
    assumeTrue(library.available(), library.detail());
  }

  @AfterEach
  void allIsBack() {
    context.markTaskCompleted(Option.empty());
    assertEquals(0, memory.live());
    assertEquals(0, blocks.open(), "blocks left open");
    memory.close();
  }

  private FrameBatches open(StructType schema, int mostRows, byte[]... frames) {
    blocks = TestBlocks.of(frames);
    FrameGroup group = new FrameGroup(new FrameReader(blocks, reader), reader, new ReadCounts(counters), false);
    return new FrameBatches(group, schema, mostRows, reader, context, metrics, new FetchFailures(counters),
        () -> insideTask, counters);
  }

  private static List<Long> longs(ColumnarBatch batch) {
    List<Long> values = new ArrayList<>();
    for (int i = 0; i < batch.numRows(); i++) {
      values.add(batch.column(0).getLong(i));
    }
    return values;
  }

  /** Batches of 64, whose vectors begin anywhere in the decoded columns. */
  @ParameterizedTest
  @CsvSource({"true,true", "true,false", "false,true", "false,false"})
  void valuesOfEveryTypeAreThoseOfTheRows(boolean nulls, boolean inside) {
    insideTask = inside;
    StructType schema = TestVectors.schema(nulls);
    UnsafeProjection projection = UnsafeProjection.create(schema);
    List<UnsafeRow> expected = new ArrayList<>();
    try (ColumnarBatch rows =
        TestVectors.batch(Kind.ON_HEAP, TestVectors.rows(new Random(1), Kind.ON_HEAP, 1_000, nulls))) {
      rows.rowIterator().forEachRemaining(row -> expected.add(projection.apply(row).copy()));
    }
    FrameBatches batches = open(schema, 64, PlainFrames.frame(schema.size(), expected.subList(0, 333)),
        PlainFrames.frame(schema.size(), expected.subList(333, 1_000)));
    List<UnsafeRow> actual = new ArrayList<>();
    while (batches.hasNext()) {
      ColumnarBatch batch = batches.next();
      assertEquals(Math.min(64, 1_000 - actual.size()), batch.numRows());
      for (int i = 0; i < schema.size(); i++) {
        assertNulls(batch, i);
      }
      batch.rowIterator().forEachRemaining(row -> actual.add(projection.apply(row).copy()));
    }
    assertEquals(expected, actual);
    assertEquals(1_000, counters.get(Counter.READ_ROWS_OF_BATCHES));
    assertEquals(1_000, counters.get(Counter.READ_RECORDS));
    assertEquals(1_000, context.taskMetrics().shuffleReadMetrics().recordsRead());
  }

  private static void assertNulls(ColumnarBatch batch, int column) {
    int nulls = 0;
    for (int row = 0; row < batch.numRows(); row++) {
      nulls += batch.column(column).isNullAt(row) ? 1 : 0;
    }
    assertEquals(nulls, batch.column(column).numNulls());
    assertEquals(nulls > 0, batch.column(column).hasNull());
  }

  @Test
  void aBatchIsValidUntilTheNextOneIsAskedFor() {
    FrameBatches batches = open(LONGS, 4, PlainFrames.frame(0, 6));
    ColumnarBatch first = batches.next();
    assertTrue(batches.hasNext());
    assertEquals(PlainFrames.range(0, 4), longs(first));
    ColumnarBatch last = batches.next();
    assertThrows(IndexOutOfBoundsException.class, () -> first.column(0).getLong(0));
    assertThrows(IndexOutOfBoundsException.class, () -> first.column(0).isNullAt(3));
    assertFalse(batches.hasNext());
    assertThrows(NoSuchElementException.class, batches::next);
    last.close();
    assertEquals(PlainFrames.range(4, 2), longs(last), "closed by its consumer, as Spark's operators may");
    context.markTaskCompleted(Option.empty());
    assertThrows(IndexOutOfBoundsException.class, () -> last.column(0).getLong(0));
    assertFalse(batches.hasNext());
  }

  @Test
  void afterTheTasksEndThereAreNoBatches() {
    FrameBatches batches = open(LONGS, 100, PlainFrames.block(0, 2, 50), PlainFrames.block(100, 200, 50));
    assertEquals(PlainFrames.range(0, 100), longs(batches.next()));
    context.markTaskCompleted(Option.empty());
    assertEquals(0, memory.live());
    assertThrows(SluiceException.class, batches::hasNext);
    assertThrows(SluiceException.class, batches::next);
    assertEquals(100, context.taskMetrics().shuffleReadMetrics().recordsRead());
  }

  /** On a thread that may run on after the task's end. */
  @Test
  void batchesOfOtherThreadsAreOnTheHeap() {
    insideTask = false;
    FrameBatches batches = open(LONGS, 100, PlainFrames.block(0, 3, 50));
    batches.next();
    ColumnarBatch last = batches.next();
    assertInstanceOf(OnHeapColumnVector.class, last.column(0));
    context.markTaskCompleted(Option.empty());
    assertEquals(PlainFrames.range(100, 50), longs(last));
  }

  @Test
  void aLongRowIsOnTheHeapAndAlone() {
    FrameBatches batches = open(LONGS, 100, PlainFrames.frame(0, 3), PlainFrames.frameOfOneRow(3, 33 << 20),
        PlainFrames.frame(4, 3));
    assertEquals(PlainFrames.range(0, 3), longs(batches.next()));
    ColumnarBatch alone = batches.next();
    assertInstanceOf(OnHeapColumnVector.class, alone.column(0));
    assertTrue(batches.hasNext());
    assertEquals(List.of(3L), longs(alone));
    assertEquals(PlainFrames.range(4, 3), longs(batches.next()));
    assertFalse(batches.hasNext());
    assertEquals(7, counters.get(Counter.READ_RECORDS));
  }

  /** A row that may be short enough for memory outside the heap, of which there is none. */
  @Test
  void aRowIsOnTheHeapWhereTheTaskHasNoMoreMemory() {
    memory.refuse(true);
    FrameBatches batches = open(LONGS, 100, PlainFrames.frameOfOneRow(3, 20 << 20), PlainFrames.frame(4, 3));
    ColumnarBatch alone = batches.next();
    assertInstanceOf(OnHeapColumnVector.class, alone.column(0));
    assertEquals(List.of(3L), longs(alone));
    assertEquals(PlainFrames.range(4, 3), longs(batches.next()));
    assertFalse(batches.hasNext());
  }

  /** Batches on the heap may be closed, as those of frames. */
  @Test
  void consumersMayCloseEveryBatch() {
    insideTask = false;
    FrameBatches batches = open(LONGS, 10, PlainFrames.frame(0, 30));
    List<Long> values = new ArrayList<>();
    while (batches.hasNext()) {
      ColumnarBatch batch = batches.next();
      values.addAll(longs(batch));
      batch.close();
    }
    assertEquals(PlainFrames.range(0, 30), values);
  }

  /** Then the consumer frees everything, as soon as it has what it waits for. */
  @Test
  void theTaskEndsWhileTheConsumerWaitsForABlock() {
    insideTask = false;
    FrameBatches batches = open(LONGS, 100, PlainFrames.frame(0, 3), PlainFrames.frame(3, 3));
    blocks.arrived(1, () -> {
      context.markTaskCompleted(Option.empty());
      assertTrue(memory.live() > 0, "the consumer still uses it");
      assertEquals(0, memory.inAccount());
    });
    assertThrows(SluiceException.class, batches::next);
    assertEquals(0, memory.live());
    assertThrows(SluiceException.class, batches::hasNext);
  }

  /** The last batch stays as it is, and other tasks get what it was counted with. */
  @Test
  void theLastBatchIsNotCountedAnyMore() {
    FrameBatches batches = open(LONGS, 100, PlainFrames.frame(0, 3));
    ColumnarBatch last = batches.next();
    long before = memory.live();
    assertFalse(batches.hasNext());
    assertTrue(memory.live() < before - 1, "the frames and the count of the arrays");
    assertEquals(PlainFrames.range(0, 3), longs(last));
  }

  @Test
  void framesAreDecodedWhereTheTaskHasNoMoreMemory() {
    memory.refuse(true);
    FrameBatches batches = open(LONGS, 1_000, PlainFrames.block(0, 10, 50));
    assertEquals(PlainFrames.range(0, 500), longs(batches.next()));
    assertFalse(batches.hasNext());
  }

  @Test
  void aCorruptFrameIsAFetchFailure() {
    byte[] bad = PlainFrames.frame(3, 3);
    bad[bad.length - 1] ^= 1;
    FrameBatches batches = open(LONGS, 100, PlainFrames.frame(0, 3), bad);
    // Frames of a group are decoded together; the one that is corrupt is found then.
    Exception failure = assertThrows(Exception.class, () -> {
      batches.next();
      batches.next();
    });
    assertInstanceOf(FetchFailedException.class, failure);
    assertTrue(failure.getMessage().contains("block shuffle_3_101_5 of map index 1"), failure::getMessage);
    assertEquals(0, memory.live());
    assertThrows(SluiceException.class, batches::hasNext);
  }

  @Test
  void aKilledTaskEnds() {
    FrameBatches batches = open(LONGS, 100, PlainFrames.block(0, 300, 50));
    batches.next();
    context.markInterrupted("enough");
    assertThrows(TaskKilledException.class, batches::next);
    assertEquals(0, memory.live());
  }
}
