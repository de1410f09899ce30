package io.sluice.spark.exchange;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.NativeLibrary;
import io.sluice.spark.columnar.CollectedRows;
import io.sluice.spark.columnar.TestVectors;
import io.sluice.spark.columnar.TestVectors.Kind;
import io.sluice.spark.compat.ScalaIterators;
import io.sluice.spark.decode.TestMemory;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/** The rows of batches are in the partitions in which Spark's function puts them. */
class PartitionedBatchesTest {
  private static final int ROWS = 500;
  private static final int PARTITIONS = 13;

  private final StructType schema = TestVectors.schema(true);
  private final TestMemory memory = new TestMemory();
  private final Counters counters = new Counters();
  private final SQLMetric rowCount = new SQLMetric("sum", 0);
  private final SQLMetric batchCount = new SQLMetric("sum", 0);

  @BeforeEach
  void load() {
    NativeLibrary.Status library = NativeLibrary.load("");
    assumeTrue(library.available(), library.detail());
  }

  @AfterEach
  void nothingIsLeft() {
    memory.close();
  }

  /** As Spark's exchange: a pair of partition and row. */
  private static final class Pairs extends AbstractFunction1<InternalRow, Tuple2<Object, InternalRow>> {
    private final ToIntFunction<UnsafeRow> partition;
    private int calls;

    Pairs(ToIntFunction<UnsafeRow> partition) {
      this.partition = partition;
    }

    @Override
    public Tuple2<Object, InternalRow> apply(InternalRow row) {
      calls++;
      return new Tuple2<>(partition.applyAsInt((UnsafeRow) row), row);
    }
  }

  private ToIntFunction<UnsafeRow> sparks(int... keys) {
    List<Expression> columns = IntStream.of(keys).mapToObj(key -> {
      StructField field = schema.fields()[key];
      return (Expression) new BoundReference(key, field.dataType(), field.nullable());
    }).toList();
    UnsafeProjection id = UnsafeProjection.create(
        new HashPartitioning(CollectionConverters.asScala(columns).toSeq(), PARTITIONS).partitionIdExpression());
    return row -> id.apply(row).getInt(0);
  }

  private RowPartitioning hash(int... keys) {
    List<HashColumn> columns = new ArrayList<>();
    for (int key : keys) {
      StructField field = schema.fields()[key];
      columns.add(HashColumn.of(field.dataType(), field.dataType(), key, field.nullable()).orElseThrow());
    }
    return RowPartitioning.hash(columns, schema.size(), PARTITIONS);
  }

  private BatchedRows input(List<ColumnarBatch> batches) {
    return new BatchedRows(() -> rows(batches), () -> ScalaIterators.of(batches.iterator()), rowCount, batchCount);
  }

  private Iterator<InternalRow> rows(List<ColumnarBatch> batches) {
    UnsafeProjection projection = UnsafeProjection.create(schema);
    List<InternalRow> rows = new ArrayList<>();
    batches.forEach(batch -> batch.rowIterator().forEachRemaining(row -> rows.add(projection.apply(row).copy())));
    return ScalaIterators.of(rows.iterator());
  }

  private PartitionedRows<?> mapped(BatchedRows input, RowPartitioning partitioning, Pairs pairs) {
    ExchangeRows rows = new ExchangeRows(input, partitioning.newFinder(), partitioning.batches());
    return (PartitionedRows<?>) rows.map(pairs);
  }

  private static List<ColumnarBatch> batches(Kind kind) {
    return batches(kind, kind, kind);
  }

  private static List<ColumnarBatch> batches(Kind... kinds) {
    List<ColumnarBatch> batches = new ArrayList<>();
    for (int i = 0; i < kinds.length; i++) {
      batches.add(TestVectors.batch(kinds[i], TestVectors.rows(new Random(i), kinds[i], ROWS, true)));
    }
    return batches;
  }

  private CollectedRows write(PartitionedRows<?> rows) throws IOException {
    return write(rows, 3);
  }

  private CollectedRows write(PartitionedRows<?> rows, int expectedBatches) throws IOException {
    CollectedRows collected = new CollectedRows();
    try (PartitionedBatches taken = rows.takeBatches(memory)) {
      int batches = 0;
      while (taken.writeNext(collected)) {
        batches++;
      }
      assertEquals(expectedBatches, batches);
    }
    rows.count(counters, null);
    return collected;
  }

  @ParameterizedTest
  @EnumSource(Kind.class)
  void rowsHaveSparksPartitions(Kind kind) throws IOException {
    int[] all = IntStream.range(0, schema.size()).toArray();
    List<int[]> keys = new ArrayList<>(List.of(all, new int[] {7, 4}));
    for (int key : all) {
      keys.add(new int[] {key});
    }
    for (int[] some : keys) {
      // Arrow's vectors are freed when their rows are written.
      List<ColumnarBatch> batches = batches(kind);
      Iterator<InternalRow> rows = rows(batches);
      Pairs pairs = new Pairs(sparks(some));
      CollectedRows collected = write(mapped(input(batches), hash(some).ofBatches(schema), pairs));
      ToIntFunction<UnsafeRow> partition = sparks(some);
      for (int i = 0; i < 3 * ROWS; i++) {
        UnsafeRow row = (UnsafeRow) rows.next();
        assertEquals(row, collected.rows().get(i));
        assertEquals(partition.applyAsInt(row), collected.partitions().get(i));
      }
      assertEquals(3 * ROWS, collected.fromBatches());
      // Of a constant, there is one null or none in a batch.
      assertTrue(pairs.calls == 64 || kind == Kind.CONSTANT && pairs.calls <= 3 * 64, () -> "asked: " + pairs.calls);
      batches.forEach(ColumnarBatch::close);
    }
  }

  @Test
  void rowsAndBatchesAreCounted() throws IOException {
    List<ColumnarBatch> batches = batches(Kind.ON_HEAP);
    write(mapped(input(batches), RowPartitioning.single().ofBatches(schema), new Pairs(row -> 0)));
    assertEquals(3 * ROWS, rowCount.value());
    assertEquals(3, batchCount.value());
    assertEquals(3 * ROWS, counters.get(Counter.WRITE_ROWS_OF_BATCHES));
    assertEquals(0, counters.get(Counter.WRITE_ROWS_PROJECTED));
    assertEquals(3 * ROWS - 64, counters.get(Counter.WRITE_PARTITIONS_FOUND));
    assertEquals(64, counters.get(Counter.WRITE_PARTITIONS_ASKED));
    assertEquals(0, counters.get(Counter.WRITE_PARTITIONS_REFUTED));
  }

  @Test
  void whereSparksFunctionDisagreesItFindsAllPartitions() throws IOException {
    ToIntFunction<UnsafeRow> hash = sparks(4);
    ToIntFunction<UnsafeRow> other = row -> (hash.applyAsInt(row) + 1) % PARTITIONS;
    List<ColumnarBatch> batches = batches(Kind.OFF_HEAP);
    CollectedRows collected = write(mapped(input(batches), hash(4).ofBatches(schema), new Pairs(other)));
    for (int i = 0; i < 3 * ROWS; i++) {
      assertEquals(other.applyAsInt(collected.rows().get(i)), collected.partitions().get(i));
    }
    assertEquals(0, collected.fromBatches());
    assertEquals(1, counters.get(Counter.WRITE_PARTITIONS_REFUTED));
    assertEquals(0, counters.get(Counter.WRITE_PARTITIONS_FOUND));
    assertEquals(3 * ROWS, counters.get(Counter.WRITE_PARTITIONS_ASKED));
    assertEquals(3 * ROWS, counters.get(Counter.WRITE_ROWS_PROJECTED));
  }

  @Test
  void rowsOfEachCombinationOfWaysAreComparedOnce() throws IOException {
    Kind[] kinds = {Kind.ON_HEAP, Kind.ON_HEAP_DICTIONARY, Kind.ON_HEAP, Kind.OFF_HEAP, Kind.ARROW, Kind.OTHER,
      Kind.ARROW, Kind.ON_HEAP_DICTIONARY, Kind.OFF_HEAP_DICTIONARY, Kind.OFF_HEAP};
    Pairs pairs = new Pairs(sparks(4));
    CollectedRows collected = write(mapped(input(batches(kinds)), hash(4).ofBatches(schema), pairs), kinds.length);
    assertEquals(6 * 64, pairs.calls);
    assertEquals(kinds.length * ROWS, collected.fromBatches());
    assertEquals(0, counters.get(Counter.WRITE_PARTITIONS_REFUTED));
  }

  /** The function agrees about as many rows as are compared of the first batch. */
  @ParameterizedTest
  @EnumSource(value = Kind.class, names = "ON_HEAP", mode = EnumSource.Mode.EXCLUDE)
  void whereOnlyALaterBatchDiffersTheFollowingRowsAreSparks(Kind later) throws IOException {
    ToIntFunction<UnsafeRow> hash = sparks(4);
    int[] calls = {0};
    ToIntFunction<UnsafeRow> other = row -> (hash.applyAsInt(row) + (calls[0]++ < 64 ? 0 : 1)) % PARTITIONS;
    List<ColumnarBatch> batches = batches(Kind.ON_HEAP, Kind.ON_HEAP, later, Kind.ON_HEAP);
    CollectedRows collected = write(mapped(input(batches), hash(4).ofBatches(schema), new Pairs(other)), 4);
    for (int i = 0; i < 4 * ROWS; i++) {
      int expected = (hash.applyAsInt(collected.rows().get(i)) + (i < 2 * ROWS ? 0 : 1)) % PARTITIONS;
      assertEquals(expected, collected.partitions().get(i));
    }
    assertEquals(2 * ROWS, collected.fromBatches());
    assertEquals(1, counters.get(Counter.WRITE_PARTITIONS_REFUTED));
    assertEquals(2 * ROWS, counters.get(Counter.WRITE_ROWS_OF_BATCHES));
    assertEquals(2 * ROWS, counters.get(Counter.WRITE_ROWS_PROJECTED));
    assertEquals(64 + 2 * ROWS, counters.get(Counter.WRITE_PARTITIONS_ASKED));
  }

  /** Spark's code makes other rows than the vector's memory has, at the end of the batch alone. */
  @Test
  void theLastRowsAreComparedToo() throws IOException {
    ToIntFunction<UnsafeRow> hash = sparks(4);
    List<ColumnarBatch> batches = batches(Kind.ON_HEAP);
    UnsafeRow last = UnsafeProjection.create(schema).apply(batches.get(0).getRow(ROWS - 1)).copy();
    ToIntFunction<UnsafeRow> other = row -> (hash.applyAsInt(row) + (row.equals(last) ? 1 : 0)) % PARTITIONS;
    CollectedRows collected = write(mapped(input(batches), hash(4).ofBatches(schema), new Pairs(other)));
    assertEquals(0, collected.fromBatches());
    assertEquals(1, counters.get(Counter.WRITE_PARTITIONS_REFUTED));
  }

  @ParameterizedTest
  @ValueSource(ints = {PartitionedBatches.MOST_REFUSED - 1, PartitionedBatches.MOST_REFUSED})
  void afterManyBatchesForWhichThereIsNoMemoryNoneIsTried(int refused) throws IOException {
    Kind[] kinds = new Kind[refused + 3];
    Arrays.fill(kinds, Kind.ON_HEAP);
    List<ColumnarBatch> batches = batches(kinds);
    Iterator<InternalRow> expected = rows(batches);
    PartitionedRows<?> rows = mapped(input(batches), hash(4).ofBatches(schema), new Pairs(sparks(4)));
    CollectedRows collected = new CollectedRows();
    try (PartitionedBatches taken = rows.takeBatches(memory)) {
      for (int i = 0; i < batches.size(); i++) {
        memory.refuse(i < refused);
        assertTrue(taken.writeNext(collected));
      }
    }
    rows.count(counters, null);
    int fromBatches = refused < PartitionedBatches.MOST_REFUSED ? 3 * ROWS : 0;
    assertEquals(fromBatches, collected.fromBatches());
    assertEquals(fromBatches, counters.get(Counter.WRITE_ROWS_OF_BATCHES));
    assertEquals(batches.size() * ROWS - fromBatches, counters.get(Counter.WRITE_ROWS_PROJECTED));
    ToIntFunction<UnsafeRow> partition = sparks(4);
    for (int i = 0; i < batches.size() * ROWS; i++) {
      UnsafeRow row = (UnsafeRow) expected.next();
      assertEquals(row, collected.rows().get(i));
      assertEquals(partition.applyAsInt(row), collected.partitions().get(i));
    }
  }

  @Test
  void whoeverAsksForARowGetsRows() {
    List<ColumnarBatch> batches = batches(Kind.ON_HEAP);
    PartitionedRows<?> rows = mapped(input(batches), hash(4).ofBatches(schema), new Pairs(sparks(4)));
    assertTrue(rows.advance());
    assertNull(rows.takeBatches(memory));
    int count = 1;
    while (rows.advance()) {
      count++;
    }
    assertEquals(3 * ROWS, count);
    assertEquals(0, rowCount.value(), "Spark's own code counts them");
    PartitionedRows<?> taken = mapped(input(batches), hash(4).ofBatches(schema), new Pairs(sparks(4)));
    assertNotNull(taken.takeBatches(memory));
    assertNull(taken.takeBatches(memory));
    assertThrows(IllegalStateException.class, taken::advance);
  }

  @Test
  void otherPartitioningsAndTypesGoByRows() {
    assertTrue(hash(4).ofBatches(schema).takesBatches());
    assertFalse(hash(4).ofBatches(schema.add("a", DataTypes.createArrayType(DataTypes.LongType))).takesBatches());
    // Hashed as the long that it is widened to.
    HashColumn widened = HashColumn.of(DataTypes.IntegerType, DataTypes.LongType, 3, true).orElseThrow();
    assertFalse(RowPartitioning.hash(List.of(widened), schema.size(), 7).ofBatches(schema).takesBatches());
    assertFalse(RowPartitioning.roundRobin(null, 7).ofBatches(schema).takesBatches());
    PartitionedRows<?> rows = mapped(input(batches(Kind.ON_HEAP)), hash(4), new Pairs(sparks(4)));
    assertNull(rows.takeBatches(memory));
    assertTrue(rows.advance());
  }
}
