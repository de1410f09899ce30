package io.sluice.spark.exchange;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.NativeLibrary;
import io.sluice.spark.columnar.CollectedRows;
import io.sluice.spark.columnar.TestVectors;
import io.sluice.spark.columnar.TestVectors.Kind;
import io.sluice.spark.compat.ScalaIterators;
import io.sluice.spark.decode.TestMemory;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * Generated schemas, vectors, nulls, numbers of rows, keys and numbers of partitions: the rows of batches are Spark's,
 * byte for byte, in Spark's partitions. Each column of each batch is a vector of another kind. All comes from the
 * test's seed; {@code -Dsluice.generatedBatches=1000} takes as many seeds.
 */
class GeneratedBatchesTest {
  private static final int SEEDS = Integer.getInteger("sluice.generatedBatches", 24);
  private static final int MOST_COLUMNS = 9;
  private static final int MOST_BATCHES = 5;
  private static final int[] ROWS = {1, 2, 63, 64, 65, 127, 300, 1000};
  private static final int[] PARTITIONS = {1, 2, 7, 200, 4096, 1 << 20, Integer.MAX_VALUE};

  static LongStream seeds() {
    return LongStream.range(0, SEEDS);
  }

  @BeforeEach
  void load() {
    NativeLibrary.Status library = NativeLibrary.load("");
    assumeTrue(library.available(), library.detail());
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void rowsAndPartitionsAreSparks(long seed) throws IOException {
    Random random = new Random(seed);
    StructType schema = schema(random);
    int partitions = PARTITIONS[random.nextInt(PARTITIONS.length)];
    int[] keys = random.ints(1 + random.nextInt(4), 0, schema.size()).toArray();
    UnsafeProjection sparksPartition = sparksPartition(schema, keys, partitions);
    UnsafeProjection sparksRow = UnsafeProjection.create(schema);
    List<UnsafeRow> expected = new ArrayList<>();
    List<ColumnarBatch> batches = new ArrayList<>();
    int count = 1 + random.nextInt(MOST_BATCHES);
    for (int i = 0; i < count; i++) {
      ColumnarBatch batch = batch(random, schema);
      batches.add(batch);
      batch.rowIterator().forEachRemaining(row -> expected.add(sparksRow.apply(row).copy()));
    }
    CollectedRows collected = write(schema, partitioning(schema, keys, partitions), batches, sparksPartition);
    assertEquals(expected.size(), collected.rows().size());
    for (int i = 0; i < expected.size(); i++) {
      assertEquals(expected.get(i), collected.rows().get(i), schema + ", row " + i);
      assertEquals(sparksPartition.apply(expected.get(i)).getInt(0), collected.partitions().get(i), schema + ", row "
          + i);
    }
    assertEquals(expected.size(), collected.fromBatches());
  }

  private static CollectedRows write(StructType schema, RowPartitioning partitioning, List<ColumnarBatch> batches,
      UnsafeProjection sparksPartition) throws IOException {
    BatchDivision division = partitioning.ofBatches(schema).batches();
    CollectedRows collected = new CollectedRows();
    try (TestMemory memory = new TestMemory();
        PartitionedBatches taken = new PartitionedBatches(ScalaIterators.of(batches.iterator()), division,
            new AbstractFunction1<InternalRow, Tuple2<Object, InternalRow>>() {
              @Override
              public Tuple2<Object, InternalRow> apply(InternalRow row) {
                return new Tuple2<>(sparksPartition.apply(row).getInt(0), row);
              }
            }, memory)) {
      while (taken.writeNext(collected)) {
        // The batch's rows are collected.
      }
    } finally {
      batches.forEach(ColumnarBatch::close);
    }
    return collected;
  }

  static StructType schema(Random random) {
    StructType schema = new StructType();
    int columns = 1 + random.nextInt(MOST_COLUMNS);
    for (int i = 0; i < columns; i++) {
      schema = schema.add("c" + i, type(random), random.nextInt(3) > 0);
    }
    return schema;
  }

  private static DataType type(Random random) {
    if (random.nextInt(4) == 0) {
      int precision = 1 + random.nextInt(38);
      return DataTypes.createDecimalType(precision, random.nextInt(precision + 1));
    }
    return TestVectors.TYPES.get(random.nextInt(TestVectors.TYPES.size()));
  }

  static ColumnarBatch batch(Random random, StructType schema) {
    int rows = ROWS[random.nextInt(ROWS.length)];
    ColumnVector[] columns = new ColumnVector[schema.size()];
    for (int i = 0; i < columns.length; i++) {
      StructField field = schema.fields()[i];
      Kind kind = Kind.values()[random.nextInt(Kind.values().length)];
      columns[i] = TestVectors.vector(kind, field.dataType(), values(random, field, kind, rows));
    }
    return new ColumnarBatch(columns, rows);
  }

  /** None, some or nothing but nulls; few different values or many. */
  private static Object[] values(Random random, StructField field, Kind kind, int rows) {
    int nulls = field.nullable() ? List.of(0, 10, 50, 100).get(random.nextInt(4)) : 0;
    int different = kind == Kind.CONSTANT ? 1 : List.of(1, 5, 10_000).get(random.nextInt(3));
    Object[] values = new Object[rows];
    List<Object> before = new ArrayList<>();
    for (int row = 0; row < rows; row++) {
      if (kind == Kind.CONSTANT && row > 0) {
        values[row] = values[0];
      } else if (random.nextInt(100) >= nulls) {
        values[row] = before.size() < different ? TestVectors.value(random, field.dataType())
            : before.get(random.nextInt(before.size()));
        before.add(values[row]);
      }
    }
    return values;
  }

  private static RowPartitioning partitioning(StructType schema, int[] keys, int partitions) {
    if (partitions == 1) {
      return RowPartitioning.single();
    }
    List<HashColumn> columns = IntStream.of(keys).mapToObj(key -> {
      StructField field = schema.fields()[key];
      return HashColumn.of(field.dataType(), field.dataType(), key, field.nullable()).orElseThrow();
    }).toList();
    return RowPartitioning.hash(columns, schema.size(), partitions);
  }

  private static UnsafeProjection sparksPartition(StructType schema, int[] keys, int partitions) {
    List<Expression> columns = IntStream.of(keys).mapToObj(key -> {
      StructField field = schema.fields()[key];
      return (Expression) new BoundReference(key, field.dataType(), field.nullable());
    }).toList();
    return UnsafeProjection.create(
        new HashPartitioning(CollectionConverters.asScala(columns).toSeq(), partitions).partitionIdExpression());
  }
}
