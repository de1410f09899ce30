package io.sluice.spark.decode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.SluiceException;
import io.sluice.spark.fetch.BlockReadException;
import io.sluice.spark.fetch.FetchFailures;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ReadCounts;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.TaskKilledException;
import org.apache.spark.executor.TempShuffleReadMetrics;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.provider.ValueSource;
import org.junit.jupiter.params.ParameterizedTest;
import scala.Product2;
import scala.collection.Iterator;

import org.apache.spark.TaskContext$;
import scala.collection.Iterator$;

class RowIteratorTest {
  private final TestMemory memory = new TestMemory();
  private final Counters counters = new Counters();
  private final TaskContextImpl context = TaskContext$.MODULE$.empty();
  private final TempShuffleReadMetrics metrics = context.taskMetrics().createTempShuffleReadMetrics();
  private final ReaderMemory reader = new ReaderMemory(memory, counters);
  private boolean insideTask = true;

  @AfterEach
  void allMemoryIsBack() {
    memory.close();
  }

  private RowIterator iterator(BatchSource batches, RowIterator.Batches columns) {
    return new RowIterator(
        batches, reader, context, metrics, new FetchFailures(counters), () -> insideTask, columns);
  }

  private RowIterator iterator(BatchSource batches) {
    return iterator(batches, RowIterator.Batches.NONE);
  }

  private RowIterator iterator(byte[]... blocks) {
    return iterator(source(blocks));
  }

  private BatchSource source(byte[]... blocks) {
    return new InlineDecoder(new FrameReader(TestBlocks.of(blocks), reader), PlainFrames.DECODER, reader,
        new ReadCounts(counters));
  }

  private static List<Long> take(RowIterator rows, int count) {
    List<Long> values = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      values.add(rows.next()._2().getLong(0));
    }
    return values;
  }

  @Test
  void allRowsAreReturnedInOneReusedPairAndRow() {
    RowIterator rows = iterator(PlainFrames.block(0, 3, 700), PlainFrames.block(2100, 1, 1));
    Product2<Object, UnsafeRow> pair = rows.next();
    UnsafeRow row = pair._2();
    assertEquals(0, row.getLong(0));
    assertNull(row.getBaseObject());
    assertEquals(PlainFrames.range(1, 2100), take(rows, 2100));
    assertSame(row, pair._2());
    assertFalse(rows.hasNext());
    assertFalse(rows.hasNext());
    assertThrows(NoSuchElementException.class, rows::next);
    assertEquals(2101, metrics.recordsRead());
    assertEquals(2101, context.taskMetrics().shuffleReadMetrics().recordsRead());
    assertEquals(4, counters.get(Counter.READ_FRAMES));
    assertEquals(4, counters.get(Counter.READ_FRAMES_BY_TASK));
    assertEquals(2101, counters.get(Counter.READ_RECORDS));
    assertEquals(2101 * 16, counters.get(Counter.READ_DECODED_BYTES));
  }

  /** As in Spark, where only next() touches the row: many operators look whether there is more before they use it. */
  @Test
  void aRowStaysValidAfterHasNext() {
    RowIterator rows = iterator(PlainFrames.block(0, 2, 3), PlainFrames.block(6, 1, 1));
    for (long i = 0; i < 7; i++) {
      UnsafeRow row = rows.next()._2();
      long address = row.getBaseOffset();
      assertEquals(i < 6, rows.hasNext());
      assertEquals(i, row.getLong(0));
      assertEquals(i < 6, row.getBaseOffset() == address, "the row was moved while it was alive");
    }
    assertEquals(0, memory.live());
  }

  /** Two long rows one after the other are in the same array, as in Spark's own reader. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void longRowsAreOnTheHeapAndCountedWhenTheConsumerStops(boolean inside) {
    insideTask = inside;
    int bytes = 33 << 20;
    RowIterator rows = iterator(PlainFrames.frameOfOneRow(1, bytes), PlainFrames.frameOfOneRow(2, bytes - 8),
        PlainFrames.block(3, 1, 10));
    UnsafeRow first = rows.next()._2();
    byte[] array = (byte[]) first.getBaseObject();
    assertEquals(bytes + Integer.BYTES, array.length, "the row's length is behind the row");
    assertEquals(bytes, first.getSizeInBytes());
    UnsafeRow second = rows.next()._2();
    assertSame(array, second.getBaseObject());
    assertEquals(bytes - 8, second.getSizeInBytes());
    assertEquals(2, second.getLong(0));
    rows.close();
    assertEquals(0, memory.live());
    assertEquals(2, second.getLong(0));
    if (inside) {
      assertEquals(2, metrics.recordsRead());
    }
  }

  /** Who takes the batches reads the blocks; the rows are gone, and nothing of them was held. */
  @Test
  void batchesAreTakenInThePlaceOfRows() {
    StructType schema = new StructType().add("a", "long");
    Iterator<ColumnarBatch> batches = Iterator$.MODULE$.empty();
    RowIterator rows = iterator(source(PlainFrames.block(0, 1, 10)), (asked, mostRows) -> {
      assertSame(schema, asked);
      assertEquals(42, mostRows);
      return batches;
    });
    MappedRows<Long> mapped = assertInstanceOf(MappedRows.class, rows.map(RowIteratorTest::value));
    assertSame(batches, mapped.takeBatches(schema, 42));
    assertNull(mapped.takeBatches(schema, 42));
    assertThrows(SluiceException.class, mapped::hasNext);
    assertEquals(0, memory.taken());
  }

  @Test
  void rowsStayWhereThereAreNoBatches() {
    RowIterator rows = iterator(PlainFrames.block(0, 1, 2));
    MappedRows<Long> mapped = assertInstanceOf(MappedRows.class, rows.map(RowIteratorTest::value));
    assertNull(mapped.takeBatches(new StructType(), 42));
    assertEquals(0L, mapped.next());
    assertEquals(1L, mapped.next());
    assertFalse(mapped.hasNext());
  }

  @Test
  void whoAskedForARowGetsNoBatches() {
    RowIterator rows = iterator(source(PlainFrames.block(0, 1, 2)), (schema, mostRows) -> Iterator$.MODULE$.empty());
    assertTrue(rows.hasNext());
    assertNull(rows.takeBatches(new StructType(), 42));
    assertEquals(List.of(0L, 1L), take(rows, 2));
    rows.close();
  }

  private static Long value(Product2<Object, UnsafeRow> row) {
    return row._2().getLong(0);
  }

  @Test
  void aRowStaysValidAfterTheTasksEnd() {
    RowIterator rows = iterator(PlainFrames.block(0, 2, 300));
    take(rows, 42);
    UnsafeRow row = rows.next()._2();
    rows.close();
    assertEquals(0, memory.live());
    assertEquals(42, row.getLong(0));
  }

  @Test
  void memoryIsFreedAfterTheLastRow() {
    RowIterator rows = iterator(PlainFrames.block(0, 1, 10));
    take(rows, 10);
    assertEquals(2, memory.live());
    assertFalse(rows.hasNext());
    assertEquals(0, memory.live());
    rows.close();
    assertFalse(rows.hasNext());
  }

  @Test
  void anEarlyStopCountsExactlyTheRowsHandedOut() {
    RowIterator rows = iterator(PlainFrames.block(0, 2, 1000));
    take(rows, 600);
    assertTrue(rows.hasNext());
    rows.close();
    assertEquals(600, metrics.recordsRead());
    assertEquals(600, context.taskMetrics().shuffleReadMetrics().recordsRead());
    assertEquals(0, memory.live());
    assertThrows(SluiceException.class, rows::hasNext);
    assertThrows(SluiceException.class, rows::next);
    rows.close();
    assertEquals(600, metrics.recordsRead());
  }

  @Test
  void aKilledTaskEndsWithinOneSegmentOfRows() {
    RowIterator rows = iterator(PlainFrames.block(0, 1, 5000));
    take(rows, 10);
    context.markInterrupted("enough");
    assertThrows(TaskKilledException.class, () -> take(rows, RowIterator.SEGMENT_ROWS + 1));
    assertEquals(0, memory.live());
    assertNull(context.fetchFailed().getOrElse(() -> null));
    assertThrows(TaskKilledException.class, rows::hasNext);
  }

  @Test
  void aCorruptFrameIsAFetchFailureThatNamesItsMapOutput() {
    byte[] bad = PlainFrames.block(10, 2, 10);
    bad[bad.length - 1] ^= 1;
    RowIterator rows = iterator(PlainFrames.block(0, 1, 10), bad);
    assertEquals(PlainFrames.range(0, 20), take(rows, 20));
    FetchFailedException failure = (FetchFailedException) assertThrows(Exception.class, rows::next);
    assertEquals("FetchFailed(BlockManagerId(7, elsewhere, 7777, None), shuffleId=3, mapIndex=1, mapId=101,"
        + " reduceId=5, message=", described(failure));
    assertTrue(failure.getMessage().contains("block shuffle_3_101_5 of map index 1 from BlockManagerId(7"),
        failure::getMessage);
    assertTrue(failure.getMessage().contains("at byte " + bad.length / 2 + ": "), failure::getMessage);
    assertTrue(failure.getMessage().endsWith("diagnosed"), failure::getMessage);
    assertNotNull(failure.getCause());
    assertEquals(1, counters.get(Counter.READ_FETCH_FAILURES));
    assertEquals(1, counters.get(Counter.READ_CORRUPT_FRAMES));
    assertEquals(0, memory.live());
    assertThrows(SluiceException.class, rows::hasNext);
    assertEquals(20, metrics.recordsRead());
  }

  private static String described(FetchFailedException failure) {
    String reason = failure.toTaskFailedReason().toErrorString();
    return reason.substring(0, reason.indexOf("message=") + "message=".length());
  }

  @Test
  void anInterruptIsAnErrorButNoFetchFailure() {
    RowIterator rows = iterator(new BatchSource() {
      @Override
      public boolean hasNext() {
        return true;
      }

      @Override
      public DecodedBatch next() throws IOException {
        throw new BlockReadException(TestBlocks.block(0), 0, new ClosedByInterruptException(), null);
      }

      @Override
      public void close() {}
    });
    assertThrows(SluiceException.class, rows::next);
    assertEquals(0, counters.get(Counter.READ_FETCH_FAILURES));
    assertTrue(context.fetchFailed().isEmpty());
  }

  @Test
  void anInterruptOfAKilledTaskIsATaskKilledException() {
    RowIterator rows = iterator(new BatchSource() {
      @Override
      public boolean hasNext() {
        return true;
      }

      @Override
      public DecodedBatch next() throws IOException {
        context.markInterrupted("killed while reading");
        throw new BlockReadException(TestBlocks.block(0), 0, new ClosedByInterruptException(), null);
      }

      @Override
      public void close() {}
    });
    assertThrows(TaskKilledException.class, rows::next);
    assertEquals(0, counters.get(Counter.READ_FETCH_FAILURES));
  }

  @Test
  void aFetchFailureOfSparksIteratorIsRethrownAndMemoryFreed() {
    FetchFailedException sparks = new FetchFailedException(TestBlocks.ADDRESS, 3, 100, 0, 5, "connection lost", null);
    InlineDecoder some = new InlineDecoder(
        new FrameReader(TestBlocks.of(PlainFrames.block(0, 1, 10)), reader), PlainFrames.DECODER, reader,
        new ReadCounts(counters));
    RowIterator rows = iterator(new BatchSource() {
      @Override
      public boolean hasNext() throws IOException {
        if (some.hasNext()) {
          return true;
        }
        throw RowIteratorTest.<RuntimeException>unchecked(sparks);
      }

      @Override
      public DecodedBatch next() throws IOException {
        return some.next();
      }

      @Override
      public void close() throws IOException {
        some.close();
      }
    });
    take(rows, 10);
    assertSame(sparks, assertThrows(Exception.class, rows::hasNext));
    assertEquals(0, memory.live());
    assertEquals(1, counters.get(Counter.READ_FETCH_FAILURES));
    assertThrows(SluiceException.class, rows::hasNext);
  }

  @SuppressWarnings("unchecked")
  private static <E extends Throwable> E unchecked(Throwable thrown) throws E {
    throw (E) thrown;
  }

  @Test
  void rowsReadByAnotherThreadStayValidAfterTheTasksEnd() {
    insideTask = false;
    RowIterator rows = iterator(PlainFrames.block(0, 2, 100));
    UnsafeRow row = rows.next()._2();
    assertInstanceOf(byte[].class, row.getBaseObject());
    assertEquals(PlainFrames.range(1, 49), take(rows, 49));
    rows.close();
    assertEquals(0, memory.live());
    assertEquals(49, row.getLong(0));
    assertEquals(PlainFrames.range(50, 50), take(rows, 50));
    assertThrows(SluiceException.class, rows::hasNext);
  }

  @Test
  void closingBeforeTheFirstRowFreesTheMemory() {
    RowIterator rows = iterator(PlainFrames.block(0, 2, 100));
    rows.close();
    assertThrows(SluiceException.class, rows::hasNext);
    assertEquals(0, metrics.recordsRead());
  }
}
