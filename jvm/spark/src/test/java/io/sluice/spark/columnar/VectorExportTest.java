package io.sluice.spark.columnar;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.NativeColumns;
import io.sluice.nativebridge.NativeLibrary;
import io.sluice.spark.SluiceException;
import io.sluice.spark.columnar.TestVectors.Kind;
import io.sluice.spark.decode.TestMemory;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.ipc.message.ArrowFieldNode;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.vectorized.OffHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Rows that the native core copies from batches are those that Spark's own code makes of them, byte for byte. */
class VectorExportTest {
  private static final int ROWS = 700;
  private static final BatchPartitions SINGLE = new BatchPartitions() {
    @Override
    public long[] numbers() {
      return new long[] {NativeColumns.SINGLE, 1};
    }

    @Override
    public int partition(UnsafeRow row) {
      return 0;
    }
  };

  @BeforeEach
  void load() {
    NativeLibrary.Status library = NativeLibrary.load("");
    assumeTrue(library.available(), library.detail());
  }

  static Stream<Arguments> kinds() {
    return Stream.of(Kind.values()).flatMap(kind -> Stream.of(Arguments.of(kind, true), Arguments.of(kind, false)));
  }

  @ParameterizedTest
  @MethodSource("kinds")
  void vectorsOfEveryKindGiveSparksRows(Kind kind, boolean nulls) throws IOException {
    for (int rows : new int[] {ROWS, 1, 64, 65}) {
      try (ColumnarBatch batch = TestVectors.batch(
          kind, TestVectors.rows(new Random(rows), kind, rows, nulls))) {
        assertRows(TestVectors.schema(nulls), rows, batch);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Kind.class)
  void onlyTheFirstRowsOfLongerVectorsAreTheBatchs(Kind kind) throws IOException {
    try (ColumnarBatch batch = TestVectors.batch(kind, TestVectors.rows(new Random(1), kind, ROWS, true))) {
      for (int rows : new int[] {333, 1, 0}) {
        batch.setNumRows(rows);
        assertRows(TestVectors.schema(true), rows, batch);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(value = Kind.class, names = {"ON_HEAP", "OFF_HEAP"})
  void vectorsThatAreFilledAgainGiveTheNewRows(Kind kind) throws IOException {
    List<Object[]> first = TestVectors.rows(new Random(1), kind, ROWS, true);
    List<Object[]> second = TestVectors.rows(new Random(2), kind, ROWS / 2, true);
    StructType schema = TestVectors.schema(true);
    try (ColumnarBatch batch = TestVectors.batch(kind, first); TestMemory memory = new TestMemory();
        BatchToRows rows = open(schema, memory)) {
      CollectedRows collected = new CollectedRows();
      List<UnsafeRow> expected = new ArrayList<>(sparks(schema, batch));
      rows.write(batch, collected);
      for (int i = 0; i < schema.size(); i++) {
        WritableColumnVector column = (WritableColumnVector) batch.column(i);
        column.reset();
        int at = i;
        TestVectors.filled(column, i > 0 && i % 2 == 0, second.stream().map(row -> row[at]).toArray());
      }
      batch.setNumRows(second.size());
      expected.addAll(sparks(schema, batch));
      rows.write(batch, collected);
      assertEquals(expected, collected.rows());
      assertEquals(expected.size(), collected.fromBatches());
    }
  }

  @ParameterizedTest
  @EnumSource(value = Kind.class, names = {"ON_HEAP", "OFF_HEAP"})
  void stringsThatDoNotLieOneBehindTheOther(Kind kind) throws IOException {
    try (WritableColumnVector vector = (WritableColumnVector) TestVectors.vector(
        kind, DataTypes.StringType, text("first"), text(""), text("second"), null, text("third"))) {
      // The second word again, then bytes in the middle of the first.
      vector.putNotNull(3);
      vector.putArray(3, vector.getArrayOffset(2), 6);
      vector.putArray(4, vector.getArrayOffset(0) + 1, 3);
      assertRows(new StructType().add("s", DataTypes.StringType), 5,
          new ColumnarBatch(new ColumnVector[] {vector}, 5));
    }
  }

  @ParameterizedTest
  @EnumSource(value = Kind.class, names = {"ARROW", "CONSTANT"}, mode = EnumSource.Mode.EXCLUDE)
  void columnsOfNothingButNulls(Kind kind) throws IOException {
    for (DataType type : TestVectors.TYPES) {
      try (ColumnVector vector = TestVectors.vector(kind, type, new Object[] {null, null, null})) {
        assertRows(new StructType().add("s", type), 3, new ColumnarBatch(new ColumnVector[] {vector}, 3));
      }
    }
  }

  /** Values of short and of long ids in one vector. */
  @ParameterizedTest
  @EnumSource(value = Kind.class, names = {"ON_HEAP_DICTIONARY", "OFF_HEAP_DICTIONARY"})
  void dictionariesWithVeryManyValues(Kind kind) throws IOException {
    int rows = DictionaryCopies.MOST_IDS + 10;
    Object[] numbers = IntStream.range(0, rows).mapToObj(i -> (Object) (i * 31)).toArray();
    Object[] texts = IntStream.range(0, rows).mapToObj(i -> (Object) text("text number " + i)).toArray();
    try (ColumnVector ints = TestVectors.vector(kind, DataTypes.IntegerType, numbers);
        ColumnVector strings = TestVectors.vector(kind, DataTypes.StringType, texts)) {
      assertRows(new StructType().add("i", DataTypes.IntegerType).add("s", DataTypes.StringType), rows,
          new ColumnarBatch(new ColumnVector[] {ints, strings}, rows));
    }
  }

  /** Engines make subclasses, which Spark has allowed since 3.3. */
  @Test
  void aSubclassOfArrowsVectorGivesItsOwnValues() throws IOException {
    try (ColumnarBatch arrow = TestVectors.batch(Kind.ARROW, TestVectors.rows(new Random(1), Kind.ARROW, ROWS, true))) {
      ColumnVector shifted = new ArrowColumnVector(((ArrowColumnVector) arrow.column(4)).getValueVector()) {
        @Override
        public boolean isNullAt(int row) {
          return row > 100 || super.isNullAt(row);
        }

        @Override
        public long getLong(int row) {
          return super.getLong(row) + 1;
        }
      };
      assertRows(new StructType().add("l", DataTypes.LongType), ROWS,
          new ColumnarBatch(new ColumnVector[] {shifted}, ROWS));
    }
  }

  /** Spark reads decimals as the plan's type says, whatever the vector's. */
  @Test
  void decimalsInVectorsOfTheirStoredTypes() throws IOException {
    try (ColumnVector ints = TestVectors.vector(Kind.ON_HEAP, DataTypes.IntegerType, 12345, null, -1);
        ColumnVector longs = TestVectors.vector(Kind.OFF_HEAP, DataTypes.LongType, 12345L, null, -1L);
        ColumnVector scaled = TestVectors.vector(Kind.OTHER, DataTypes.createDecimalType(10, 2),
            Decimal.apply(new BigDecimal("1.5"), 10, 1), null, Decimal.apply(new BigDecimal("2.25"), 10, 2))) {
      StructType schema = new StructType().add("i", DataTypes.createDecimalType(7, 2))
          .add("l", DataTypes.createDecimalType(18, 3)).add("d", DataTypes.createDecimalType(10, 2));
      assertRows(schema, 3, new ColumnarBatch(new ColumnVector[] {ints, longs, scaled}, 3));
    }
  }

  private static UTF8String text(String text) {
    return UTF8String.fromString(text);
  }

  @Test
  void rowsGoOneByOneWhereThereIsNoMemoryForCopies() throws IOException {
    StructType schema = TestVectors.schema(true);
    try (ColumnarBatch batch = TestVectors.batch(
        Kind.ON_HEAP, TestVectors.rows(new Random(1), Kind.ON_HEAP, ROWS, true)); TestMemory memory = new TestMemory();
        BatchToRows rows = open(schema, memory)) {
      CollectedRows collected = new CollectedRows();
      memory.refuse(true);
      rows.write(batch, collected);
      assertEquals(0, collected.fromBatches());
      memory.refuse(false);
      rows.write(batch, collected);
      assertEquals(ROWS, collected.fromBatches());
      List<UnsafeRow> expected = new ArrayList<>(sparks(schema, batch));
      expected.addAll(sparks(schema, batch));
      assertEquals(expected, collected.rows());
    }
  }

  @Test
  void aBatchOfVeryLongStringsGoesOneByOneAndLeavesNoMemoryBehind() throws IOException {
    String characters = "x".repeat((int) (CopyBuffer.MOST_BYTES / 3) + 1);
    UTF8String longText = text(characters);
    StructType schema = new StructType().add("s", DataTypes.StringType);
    try (TestMemory memory = new TestMemory(); BatchToRows rows = open(schema, memory);
        ColumnVector three = TestVectors.vector(Kind.ON_HEAP, DataTypes.StringType, longText, longText, longText);
        ColumnVector dictionary = TestVectors.vector(
            Kind.ON_HEAP_DICTIONARY, DataTypes.StringType, longText, text(characters), text(characters))) {
      for (ColumnVector vector : List.of(three, dictionary)) {
        CollectedRows collected = new CollectedRows();
        rows.write(new ColumnarBatch(new ColumnVector[] {vector}, 3), collected);
        assertEquals(0, collected.fromBatches());
        assertEquals(longText, collected.rows().get(2).getUTF8String(0));
        assertEquals(2, memory.live(), "only what describes columns");
      }
    }
  }

  /** As Iceberg gives them for a table with deleted rows: the position in the file is behind the plan's columns. */
  @Test
  void columnsBehindThoseOfThePlanAreLeftOut() throws IOException {
    StructType schema = new StructType().add("a", DataTypes.LongType, false).add("b", DataTypes.IntegerType, false);
    try (ColumnarBatch batch = new ColumnarBatch(new ColumnVector[] {
      TestVectors.vector(Kind.ON_HEAP, DataTypes.LongType, 1L, 2L),
      TestVectors.vector(Kind.ON_HEAP, DataTypes.IntegerType, 3, 4),
      TestVectors.vector(Kind.ON_HEAP, DataTypes.LongType, 5L, 6L)}, 2)) {
      assertRows(schema, 2, batch);
    }
  }

  @Test
  void aBatchOfOtherColumnsThanThePlansIsAnError() {
    StructType schema = new StructType().add("a", DataTypes.LongType).add("b", DataTypes.StringType);
    ColumnVector longs = TestVectors.vector(Kind.ON_HEAP, DataTypes.LongType, 1L, 2L);
    ColumnVector ints = TestVectors.vector(Kind.OFF_HEAP, DataTypes.IntegerType, 1, 2);
    assertFails("a batch has 1 columns, and the plan 2: struct<a:bigint,b:string>", schema, longs);
    assertFails("column 1 ('b') of a batch has values of int, and the plan string", schema, longs, ints);
    ints.close();
  }

  @ParameterizedTest
  @EnumSource(value = Kind.class, names = {"ON_HEAP", "OFF_HEAP", "ARROW"})
  void aClosedBatchIsAnErrorThatNamesTheColumn(Kind kind) {
    for (boolean nulls : new boolean[] {true, false}) {
      ColumnarBatch batch = TestVectors.batch(kind, TestVectors.rows(new Random(1), kind, ROWS, nulls));
      batch.close();
      StructType schema = TestVectors.schema(nulls);
      for (int i = 0; i < schema.size(); i++) {
        StructType one = new StructType().add(schema.fields()[i]);
        SluiceException failure = fails(one, batch.column(i));
        assertTrue(
            failure.getMessage().contains("'c" + i + "'") && failure.getMessage().contains("the batch was closed"),
            failure.getMessage());
      }
    }
  }

  /** Their memory outside the heap ends there. */
  @ParameterizedTest
  @EnumSource(value = Kind.class, names = {"ON_HEAP", "OFF_HEAP", "ON_HEAP_DICTIONARY", "OFF_HEAP_DICTIONARY"})
  void aVectorOfFewerValuesThanTheBatchIsAnError(Kind kind) {
    Object[] numbers = IntStream.range(0, 20).mapToObj(i -> (Object) i).toArray();
    Object[] texts = IntStream.range(0, 20).mapToObj(i -> (Object) text("t" + i)).toArray();
    try (ColumnVector ints = TestVectors.vector(kind, DataTypes.IntegerType, numbers);
        ColumnVector strings = TestVectors.vector(kind, DataTypes.StringType, texts)) {
      assertEquals("column 0 ('i') of a batch has room for 20 values, and the batch has 21 rows",
          fails(new StructType().add("i", DataTypes.IntegerType), 21, ints).getMessage());
      assertEquals("column 0 ('s') of a batch has room for 20 values, and the batch has 21 rows",
          fails(new StructType().add("s", DataTypes.StringType), 21, strings).getMessage());
    }
  }

  @Test
  void aConnectorsVectorOfFewerValuesIsAnErrorThatNamesTheColumn() {
    SluiceException failure = fails(new StructType().add("n", DataTypes.LongType), 3,
        TestVectors.vector(Kind.OTHER, DataTypes.LongType, 1L, 2L));
    assertTrue(failure.getMessage().startsWith(
        "column 0 ('n') of a batch has fewer values than the batch, which has 3 rows, or the batch was closed: "
            + "OtherVector says"),
        failure.getMessage());
  }

  /** As a stream from another process may have them: eight values, and buffers for four. */
  @Test
  void arrowsVectorsWithShortBuffersAreErrors() {
    try (BufferAllocator allocator = new RootAllocator()) {
      BigIntVector longs = new BigIntVector("l", allocator);
      VarCharVector strings = new VarCharVector("s", allocator);
      try (ArrowBuf mask = allocator.buffer(8); ArrowBuf values = allocator.buffer(32);
          ArrowBuf offsets = allocator.buffer(64); ArrowBuf text = allocator.buffer(32)) {
        mask.setByte(0, 0xFF);
        for (int i = 0; i < 9; i++) {
          offsets.setInt(4L * i, 10 * i);
        }
        // So far as they are used: allocators round up.
        longs.loadFieldBuffers(new ArrowFieldNode(8, 0), List.of(mask, values.slice(0, 32)));
        strings.loadFieldBuffers(new ArrowFieldNode(8, 0), List.of(mask, offsets, text.slice(0, 32)));
      }
      SluiceException failure =
          fails(new StructType().add("l", DataTypes.LongType), 8, new ArrowColumnVector(longs));
      assertTrue(failure.getMessage().startsWith("column 0 ('l') of a batch has fewer values than the batch"),
          failure.getMessage());
      assertEquals("column 's' of a batch of 8 rows has 32 bytes of values, and its offsets end at 80",
          fails(new StructType().add("s", DataTypes.StringType), 8, new ArrowColumnVector(strings)).getMessage());
      longs.close();
      strings.close();
    }
  }

  /** Spark reads such vectors, too. */
  @Test
  void arrowsVectorsThatDoNotSayHowManyValuesTheyHaveAreRead() throws IOException {
    try (BufferAllocator allocator = new RootAllocator()) {
      BigIntVector longs = new BigIntVector("l", allocator);
      VarCharVector strings = new VarCharVector("s", allocator);
      longs.allocateNew(3);
      strings.allocateNew(3);
      for (int i = 0; i < 3; i += 2) {
        longs.set(i, 7L + i);
        strings.setSafe(i, ("text " + i).getBytes(StandardCharsets.UTF_8));
      }
      StructType schema = new StructType().add("l", DataTypes.LongType).add("s", DataTypes.StringType);
      try (ColumnarBatch batch = new ColumnarBatch(
          new ColumnVector[] {new ArrowColumnVector(longs), new ArrowColumnVector(strings)}, 3)) {
        assertRows(schema, 3, batch);
      }
    }
  }

  /** As a file's dictionary of ints has it, read as longs. */
  @Test
  void valuesOfADictionaryOfAnotherTypeAreThoseOfThePlansType() throws IOException {
    StructType schema = new StructType().add("i", DataTypes.LongType);
    try (ColumnarBatch batch = new ColumnarBatch(new ColumnVector[] {
      TestVectors.vector(Kind.ON_HEAP_DICTIONARY, DataTypes.IntegerType, 1L, 2L, 1L)}, 3)) {
      assertRows(schema, 3, batch);
    }
  }

  @Test
  void anExportThatCannotBeMadeTakesNoMemory() {
    try (TestMemory memory = new TestMemory()) {
      StructType schema = new StructType().add("a", DataTypes.LongType).add("x", DataTypes.CalendarIntervalType);
      assertThrows(IllegalArgumentException.class, () -> new VectorExport(schema, memory));
    }
  }

  @Test
  void columnsTellTheWayOfTheirValues() {
    Object[] words = {text("one"), text("two"), null};
    Object[] numbers = {1L, 2L, null};
    ColumnPath.Way each = ColumnPath.Way.VALUE_BY_VALUE;
    Map<Kind, List<ColumnPath.Way>> ways = Map.of(
        Kind.ON_HEAP, List.of(ColumnPath.Way.WHOLE, ColumnPath.Way.WHOLE),
        Kind.OFF_HEAP, List.of(ColumnPath.Way.IN_PLACE, ColumnPath.Way.IN_PLACE),
        Kind.ON_HEAP_DICTIONARY, List.of(ColumnPath.Way.DICTIONARY, ColumnPath.Way.DICTIONARY),
        Kind.OFF_HEAP_DICTIONARY, List.of(ColumnPath.Way.DICTIONARY, ColumnPath.Way.DICTIONARY),
        Kind.ARROW, List.of(ColumnPath.Way.IN_PLACE, ColumnPath.Way.IN_PLACE),
        Kind.CONSTANT, List.of(each, each), Kind.OTHER, List.of(each, each));
    ways.forEach((kind, expected) -> {
      for (int rows : new int[] {3, 2}) {
        try (ColumnVector longs = TestVectors.vector(kind, DataTypes.LongType, Arrays.copyOf(numbers, rows));
            ColumnVector strings = TestVectors.vector(kind, DataTypes.StringType, Arrays.copyOf(words, rows))) {
          boolean nulls = rows == 3 && kind != Kind.CONSTANT;
          assertEquals(List.of(new ColumnPath(expected.get(0), nulls, longs.getClass()),
              new ColumnPath(expected.get(1), nulls, strings.getClass())), paths(rows, longs, strings), kind::toString);
        }
      }
    });
    try (WritableColumnVector strings = (WritableColumnVector) TestVectors.vector(
        Kind.ON_HEAP, DataTypes.StringType, text("first"), text("second"));
        ColumnVector nulls = TestVectors.vector(Kind.OFF_HEAP, DataTypes.LongType, null, null)) {
      strings.putArray(1, strings.getArrayOffset(0), 3);
      assertEquals(List.of(new ColumnPath(ColumnPath.Way.NO_VALUES, true, OffHeapColumnVector.class),
          new ColumnPath(each, false, OnHeapColumnVector.class)), paths(2, nulls, strings));
    }
  }

  private static List<ColumnPath> paths(int rows, ColumnVector longs, ColumnVector strings) {
    StructType schema = new StructType().add("l", DataTypes.LongType).add("s", DataTypes.StringType);
    try (TestMemory memory = new TestMemory(); VectorExport export = new VectorExport(schema, memory);
        ArrowStructs structs = new ArrowStructs(2, memory)) {
      assertTrue(export.export(new ColumnarBatch(new ColumnVector[] {longs, strings}, rows), structs));
      return export.paths();
    }
  }

  private static void assertFails(String message, StructType schema, ColumnVector... columns) {
    assertEquals(message, fails(schema, columns).getMessage());
  }

  private static SluiceException fails(StructType schema, ColumnVector... columns) {
    boolean two = columns[0] instanceof OnHeapColumnVector || columns[0] instanceof OffHeapColumnVector;
    return fails(schema, two ? 2 : ROWS, columns);
  }

  private static SluiceException fails(StructType schema, int rows, ColumnVector... columns) {
    ColumnarBatch batch = new ColumnarBatch(columns, rows);
    try (TestMemory memory = new TestMemory(); BatchToRows open = open(schema, memory)) {
      CollectedRows collected = new CollectedRows();
      SluiceException failure = assertThrows(SluiceException.class, () -> open.write(batch, collected));
      assertEquals(List.of(), collected.rows());
      return failure;
    }
  }

  private static BatchToRows open(StructType schema, TestMemory memory) {
    return BatchToRows.byNativeCore(
        schema, SINGLE, BatchTypes.of(schema).orElseThrow(), new VectorExport(schema, memory), memory);
  }

  private static void assertRows(StructType schema, int count, ColumnarBatch batch) throws IOException {
    try (TestMemory memory = new TestMemory(); BatchToRows rows = open(schema, memory)) {
      CollectedRows collected = new CollectedRows();
      rows.write(batch, collected);
      assertEquals(sparks(schema, batch), collected.rows());
      assertEquals(count, collected.fromBatches());
    }
  }

  private static List<UnsafeRow> sparks(StructType schema, ColumnarBatch batch) {
    UnsafeProjection projection = UnsafeProjection.create(schema);
    List<UnsafeRow> rows = new ArrayList<>();
    for (Iterator<InternalRow> each = batch.rowIterator(); each.hasNext();) {
      rows.add(projection.apply(each.next()).copy());
    }
    return rows;
  }
}
