package io.sluice.spark.comet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.NativeLibrary;
import io.sluice.spark.LocalSpark;
import io.sluice.spark.columnar.BatchToRows;
import io.sluice.spark.columnar.BatchTypes;
import io.sluice.spark.columnar.CollectedRows;
import io.sluice.spark.columnar.TestVectors;
import io.sluice.spark.columnar.VectorExport;
import io.sluice.spark.decode.TestMemory;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.RangePartitioner;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Descending$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnaryMinus;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.codegen.LazilyGeneratedOrdering;
import org.apache.spark.sql.catalyst.plans.physical.RangePartitioning;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;

/**
 * Ranges of Comet's exchanges are found by the bounds of Spark's partitioner. The batches are Spark's vectors; {@code
 * CometTest} has Comet's.
 */
@Timeout(180)
class BatchPartitioningTest {
  private static final int ROWS = 200;
  private static final int PARTITIONS = 3;
  /** Each value of the first column is in ten rows. */
  private static final StructType SCHEMA =
      new StructType().add("a", DataTypes.IntegerType, false).add("b", DataTypes.LongType);
  private static LocalSpark spark;

  private final List<Attribute> attributes = new ArrayList<>(
      CollectionConverters.asJava(DataTypeUtils.toAttributes(SCHEMA)));

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

  private static <T> Seq<T> seq(List<? extends T> list) {
    return CollectionConverters.<T>asScala(new ArrayList<T>(list)).toSeq();
  }

  private static SortOrder order(Expression key, boolean descending) {
    return new SortOrder(key, descending ? Descending$.MODULE$ : Ascending$.MODULE$, NullsFirst$.MODULE$,
        seq(List.of()));
  }

  /** By the first column, rising, and the second. */
  private static RangePartitioner<InternalRow, Object> partitioner(ColumnarBatch batch, boolean descending) {
    UnsafeProjection projection = UnsafeProjection.create(SCHEMA);
    List<Tuple2<InternalRow, Object>> keys = new ArrayList<>();
    batch.rowIterator().forEachRemaining(row -> keys.add(new Tuple2<>(projection.apply(row).copy(), 0)));
    List<SortOrder> orders = List.of(order(new BoundReference(0, DataTypes.IntegerType, false), false),
        order(new BoundReference(1, DataTypes.LongType, true), descending));
    return new RangePartitioner<>(PARTITIONS,
        JavaSparkContext.fromSparkContext(spark.session().sparkContext()).parallelize(keys, 2).rdd(), true, 10_000,
        new LazilyGeneratedOrdering(seq(orders)), ClassTag$.MODULE$.apply(InternalRow.class));
  }

  private BatchPartitioning partitioning(
      RangePartitioner<InternalRow, Object> partitioner, Expression first, boolean nativeCore) {
    RangePartitioning ranges =
        new RangePartitioning(seq(List.of(order(first, false), order(attributes.get(1), true))), PARTITIONS);
    return new BatchPartitioning(ranges, seq(attributes), SCHEMA, partitioner, nativeCore);
  }

  private static ColumnarBatch batch() {
    Random random = new Random(7);
    Object[] first = new Object[ROWS];
    Object[] second = new Object[ROWS];
    for (int i = 0; i < ROWS; i++) {
      first[i] = random.nextInt(ROWS / 10);
      second[i] = random.nextInt(4) == 0 ? null : random.nextLong();
    }
    ColumnVector[] columns = {TestVectors.vector(TestVectors.Kind.ON_HEAP, DataTypes.IntegerType, first),
      TestVectors.vector(TestVectors.Kind.ON_HEAP, DataTypes.LongType, second)};
    return new ColumnarBatch(columns, ROWS);
  }

  /** Twice the same batch. */
  private static CollectedRows write(ColumnarBatch batch, BatchPartitioning partitions) throws IOException {
    CollectedRows collected = new CollectedRows();
    try (TestMemory memory = new TestMemory(); BatchToRows rows = BatchToRows.byNativeCore(SCHEMA, partitions,
        BatchTypes.of(SCHEMA).orElseThrow(), new VectorExport(SCHEMA, memory), memory)) {
      rows.write(batch, collected);
      rows.write(batch, collected);
    }
    return collected;
  }

  private static void assertSparks(RangePartitioner<InternalRow, Object> sparks, CollectedRows collected) {
    assertEquals(2 * ROWS, collected.rows().size());
    for (int i = 0; i < 2 * ROWS; i++) {
      assertEquals(sparks.getPartition(collected.rows().get(i)), collected.partitions().get(i), "row " + i);
    }
  }

  @Test
  void rowsAreInTheRangesOfSparksPartitionerWhichIsAskedAboutTheFirst() throws IOException {
    try (ColumnarBatch batch = batch()) {
      RangePartitioner<InternalRow, Object> sparks = partitioner(batch, true);
      assertEquals(PARTITIONS, sparks.numPartitions());
      try (BatchPartitioning partitions = partitioning(sparks, attributes.get(0), true)) {
        CollectedRows collected = write(batch, partitions);
        assertSparks(sparks, collected);
        assertEquals(2 * ROWS, collected.fromBatches());
        assertEquals(64, partitions.asked());
        assertFalse(partitions.refuted());
      }
    }
  }

  /** Its bounds rise in both orders, but rows beside a bound are in other ranges. */
  @Test
  void aPartitionerOfAnotherOrderFindsTheRangesOfAllRows() throws IOException {
    try (ColumnarBatch batch = batch()) {
      RangePartitioner<InternalRow, Object> sparks = partitioner(batch, false);
      try (BatchPartitioning partitions = partitioning(sparks, attributes.get(0), true)) {
        CollectedRows collected = write(batch, partitions);
        assertSparks(sparks, collected);
        assertEquals(0, collected.fromBatches());
        assertEquals(2 * ROWS, partitions.asked());
        assertTrue(partitions.refuted());
        assertNull(partitions.numbers());
      }
    }
  }

  @Test
  void keysThatAreComputedAndExecutorsWithoutTheNativeCoreAskAboutEachRow() {
    try (ColumnarBatch batch = batch()) {
      RangePartitioner<InternalRow, Object> sparks = partitioner(batch, true);
      try (BatchPartitioning computed = partitioning(sparks, new UnaryMinus(attributes.get(0), false), true);
          BatchPartitioning without = partitioning(sparks, attributes.get(0), false)) {
        assertNull(computed.numbers());
        assertNull(without.numbers());
        UnsafeProjection projection = UnsafeProjection.create(SCHEMA);
        batch.rowIterator().forEachRemaining(row -> {
          InternalRow keys = projection.apply(row);
          assertEquals(sparks.getPartition(keys), without.partition(projection.apply(row)));
        });
        assertEquals(ROWS, without.asked());
      }
    }
  }
}
