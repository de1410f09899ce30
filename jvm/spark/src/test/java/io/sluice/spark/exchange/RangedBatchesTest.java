package io.sluice.spark.exchange;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.NativeLibrary;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.columnar.CollectedRows;
import io.sluice.spark.columnar.TestVectors;
import io.sluice.spark.compat.RangeBounds;
import io.sluice.spark.compat.ScalaIterators;
import io.sluice.spark.decode.TestMemory;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.sql.ColumnOrder;
import io.sluice.spark.sql.KeyRows;
import io.sluice.spark.sql.SortColumn;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.Partitioner;
import org.apache.spark.RangePartitioner;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Descending$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.NullsLast$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.LazilyGeneratedOrdering;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import scala.Function1;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;

/**
 * The rows of batches are in the ranges in which Spark's {@link RangePartitioner} puts them: generated schemas,
 * vectors, orders and bounds. All comes from the test's seed; {@code -Dsluice.generatedBatches=1000} takes as many
 * seeds.
 */
@Timeout(300)
class RangedBatchesTest {
  private static final int SEEDS = Integer.getInteger("sluice.generatedBatches", 16);
  private static final int[] PARTITIONS = {2, 7, 200, 1000};
  private static LocalSpark spark;

  @BeforeAll
  static void start() {
    NativeLibrary.Status library = NativeLibrary.load("");
    assumeTrue(library.available(), library.detail());
    spark = LocalSpark.start(Map.of());
  }

  @AfterAll
  static void stop() {
    if (spark != null) {
      spark.close();
    }
  }

  static LongStream seeds() {
    return LongStream.range(0, SEEDS);
  }

  /** As Spark's exchange maps a row: a lambda that has captured the partitioner. */
  private interface Pairs extends Function1<InternalRow, Tuple2<Object, InternalRow>>, Serializable {}

  /** Batches, and how they are divided. */
  private static final class Case implements AutoCloseable {
    private final StructType schema;
    private final List<SortOrder> orders = new ArrayList<>();
    private final List<SortColumn> columns = new ArrayList<>();
    private final List<ColumnarBatch> batches;
    private final List<UnsafeRow> rows = new ArrayList<>();
    private final UnsafeProjection keys;
    private final TestMemory memory = new TestMemory();

    Case(StructType schema, List<ColumnarBatch> batches, int[] keyColumns, Random random) {
      this.schema = schema;
      this.batches = batches;
      List<Expression> keyExpressions = new ArrayList<>();
      for (int i = 0; i < keyColumns.length; i++) {
        StructField field = schema.fields()[keyColumns[i]];
        boolean descending = random.nextBoolean();
        boolean nullsFirst = random.nextBoolean();
        keyExpressions.add(new BoundReference(keyColumns[i], field.dataType(), field.nullable()));
        orders.add(new SortOrder(new BoundReference(i, field.dataType(), field.nullable()),
            descending ? Descending$.MODULE$ : Ascending$.MODULE$,
            nullsFirst ? NullsFirst$.MODULE$ : NullsLast$.MODULE$, seq(List.of())));
        columns.add(SortColumn.of(field.dataType(), keyColumns[i], field.nullable(), descending, nullsFirst)
            .orElseThrow());
      }
      this.keys = UnsafeProjection.create(seq(keyExpressions));
      UnsafeProjection row = UnsafeProjection.create(schema);
      batches.forEach(batch -> batch.rowIterator().forEachRemaining(next -> rows.add(row.apply(next).copy())));
    }

    static Case generated(long seed) {
      Random random = new Random(seed);
      StructType schema = GeneratedBatchesTest.schema(random);
      List<ColumnarBatch> batches = new ArrayList<>();
      for (int i = 0; i <= random.nextInt(4); i++) {
        batches.add(GeneratedBatchesTest.batch(random, schema));
      }
      return new Case(schema, batches, random.ints(1 + random.nextInt(3), 0, schema.size()).toArray(), random);
    }

    /** Batches of a column of each type, by the long. */
    static Case ofLongs() {
      List<ColumnarBatch> batches = IntStream.range(0, 3).mapToObj(i -> TestVectors.batch(TestVectors.Kind.ON_HEAP,
          TestVectors.rows(new Random(i), TestVectors.Kind.ON_HEAP, 500, true))).toList();
      return new Case(TestVectors.schema(true), batches, new int[] {4}, new Random(1));
    }

    /** Spark's, which samples all rows. */
    RangePartitioner<InternalRow, Object> partitioner(int partitions, List<SortOrder> order) {
      List<Tuple2<InternalRow, Object>> pairs =
          rows.stream().map(row -> new Tuple2<InternalRow, Object>(keys.apply(row).copy(), 0)).toList();
      return new RangePartitioner<>(partitions,
          JavaSparkContext.fromSparkContext(spark.session().sparkContext()).parallelize(pairs, 2).rdd(), true, 10_000,
          new LazilyGeneratedOrdering(seq(order)), ClassTag$.MODULE$.apply(InternalRow.class));
    }

    RowPartitioning partitioning() {
      return RowPartitioning.range(new ColumnOrder(columns, schema.size()), () -> null).ofBatches(schema);
    }

    PartitionedRows<?> mapped(Function1<InternalRow, ?> pairs) {
      UnsafeProjection row = UnsafeProjection.create(schema);
      BatchedRows input = new BatchedRows(() -> ScalaIterators.of(batches.stream().flatMap(batch -> {
        List<InternalRow> ofBatch = new ArrayList<>();
        batch.rowIterator().forEachRemaining(next -> ofBatch.add(row.apply(next).copy()));
        return ofBatch.stream();
      }).iterator()), () -> ScalaIterators.of(batches.iterator()), null, null);
      RowPartitioning partitioning = partitioning();
      return (PartitionedRows<?>) new ExchangeRows(input, partitioning.newFinder(), partitioning.batches()).map(pairs);
    }

    CollectedRows write(PartitionedRows<?> mapped) throws IOException {
      CollectedRows collected = new CollectedRows();
      try (PartitionedBatches taken = mapped.takeBatches(memory)) {
        while (taken.writeNext(collected)) {
          // The batch's rows are collected.
        }
      }
      return collected;
    }

    @Override
    public void close() {
      batches.forEach(ColumnarBatch::close);
      memory.close();
    }
  }

  private static <T> Seq<T> seq(List<? extends T> list) {
    return CollectionConverters.<T>asScala(new ArrayList<T>(list)).toSeq();
  }

  private static Pairs sparks(Partitioner partitioner, UnsafeProjection keys) {
    return row -> new Tuple2<>(partitioner.getPartition(keys.apply(row)), row);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void rowsAreInSparksRanges(long seed) throws IOException {
    for (int partitions : PARTITIONS) {
      // Some vectors are freed when their rows are written.
      try (Case batches = Case.generated(seed)) {
        Partitioner sparks = batches.partitioner(partitions, batches.orders);
        CollectedRows collected = batches.write(batches.mapped(sparks(sparks, batches.keys)));
        assertEquals(batches.rows.size(), collected.fromBatches(), "rows from batches");
        for (int i = 0; i < batches.rows.size(); i++) {
          UnsafeRow row = batches.rows.get(i);
          assertEquals(row, collected.rows().get(i));
          int at = i;
          assertEquals(sparks.getPartition(batches.keys.apply(row)), collected.partitions().get(i),
              () -> "row " + at + " of " + batches.schema + " by " + batches.orders);
        }
      }
    }
  }

  @Test
  void rowsThatWereComparedAreCounted() throws IOException {
    try (Case batches = Case.ofLongs()) {
      PartitionedRows<?> mapped = batches.mapped(sparks(batches.partitioner(13, batches.orders), batches.keys));
      assertEquals(1500, batches.write(mapped).fromBatches());
      Counters counters = new Counters();
      mapped.count(counters, null);
      assertEquals(1500 - 64, counters.get(Counter.WRITE_PARTITIONS_FOUND));
      assertEquals(64, counters.get(Counter.WRITE_PARTITIONS_ASKED));
    }
  }

  /** The function's partitions are not those of the partitioner that it has captured. */
  @Test
  void whereSparksFunctionDisagreesItFindsAllPartitions() throws IOException {
    try (Case batches = Case.ofLongs()) {
      Partitioner captured = batches.partitioner(13, batches.orders);
      UnsafeProjection keys = batches.keys;
      Pairs other = row -> new Tuple2<>((captured.getPartition(keys.apply(row)) + 1) % 13, row);
      PartitionedRows<?> mapped = batches.mapped(other);
      CollectedRows collected = batches.write(mapped);
      for (int i = 0; i < 1500; i++) {
        assertEquals(other.apply(batches.rows.get(i))._1(), collected.partitions().get(i));
      }
      assertEquals(0, collected.fromBatches());
      Counters counters = new Counters();
      mapped.count(counters, null);
      assertEquals(1, counters.get(Counter.WRITE_PARTITIONS_REFUTED));
    }
  }

  /** No batch is asked for, so Spark's generated code makes the rows, and ranges are learned of them. */
  @Test
  void whereTheBoundsAreNotKnownThereAreOnlyRows() {
    try (Case batches = Case.ofLongs()) {
      Partitioner sparks = batches.partitioner(13, batches.orders);
      UnsafeProjection keys = batches.keys;
      Partitioner hidden = new Partitioner() {
        @Override
        public int numPartitions() {
          return sparks.numPartitions();
        }

        @Override
        public int getPartition(Object key) {
          return sparks.getPartition(key);
        }
      };
      SortOrder order = batches.orders.get(0);
      SortOrder reversed = new SortOrder(order.child(),
          order.isAscending() ? Descending$.MODULE$ : Ascending$.MODULE$, order.nullOrdering(), seq(List.of()));
      for (Partitioner other : List.of(hidden, batches.partitioner(13, List.of(reversed)))) {
        PartitionedRows<?> mapped = batches.mapped(sparks(other, keys));
        assertNull(mapped.takeBatches(batches.memory));
        int count = 0;
        while (mapped.advance()) {
          assertEquals(other.getPartition(keys.apply(mapped.row())), mapped.partition());
          count++;
        }
        assertEquals(1500, count);
      }
    }
  }

  @Test
  void boundsAreReadOnlyWhereThereIsOnePartitionerOfRows() {
    try (Case batches = Case.ofLongs()) {
      RangePartitioner<InternalRow, Object> sparks = batches.partitioner(13, batches.orders);
      assertTrue(sparks.numPartitions() > 5);
      assertEquals(sparks.numPartitions() - 1, RangeBounds.of(sparks).length);
      assertTrue(RangeBounds.capturedBy(sparks(sparks, batches.keys)) == sparks);
      assertNull(RangeBounds.of(new HashPartitioner(7)));
      assertNull(RangeBounds.of(null));
      Partitioner hash = new HashPartitioner(7);
      Pairs two = row -> new Tuple2<>(sparks.getPartition(row) + hash.getPartition(row), row);
      assertNull(RangeBounds.capturedBy(two), "two of them");
      Pairs none = row -> new Tuple2<>(0, row);
      assertNull(RangeBounds.capturedBy(none), "none");
      assertNull(RangeBounds.capturedBy("no lambda"));
    }
  }

  @Test
  void computedKeysAndTypesWithoutColumnsGoByRows() {
    StructType schema = new StructType().add("a", DataTypes.LongType).add("b", DataTypes.LongType);
    ColumnOrder order =
        new ColumnOrder(List.of(SortColumn.of(DataTypes.LongType, 0, true, false, true).orElseThrow()), 2);
    assertTrue(RowPartitioning.range(order, () -> null).ofBatches(schema).takesBatches());
    KeyRows computed = () -> UnsafeProjection.create(schema);
    assertFalse(RowPartitioning.range(order, computed).ofBatches(schema).takesBatches());
    assertFalse(RowPartitioning.range(order, () -> null)
        .ofBatches(schema.add("n", DataTypes.createArrayType(DataTypes.LongType))).takesBatches());
  }
}
