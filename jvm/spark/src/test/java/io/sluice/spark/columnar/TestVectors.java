package io.sluice.spark.columnar;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.arrow.ArrowWriter;
import org.apache.spark.sql.execution.vectorized.ConstantColumnVector;
import org.apache.spark.sql.execution.vectorized.Dictionary;
import org.apache.spark.sql.execution.vectorized.OffHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

import org.apache.spark.sql.util.ArrowUtils$;

/** Batches of the same values in vectors of every kind. */
public final class TestVectors {
  /** Types of all columns. */
  public static final List<DataType> TYPES = List.of(DataTypes.BooleanType, DataTypes.ByteType, DataTypes.ShortType,
      DataTypes.IntegerType, DataTypes.LongType, DataTypes.FloatType, DataTypes.DoubleType, DataTypes.StringType,
      DataTypes.BinaryType, DataTypes.createDecimalType(7, 2), DataTypes.createDecimalType(18, 3),
      DataTypes.createDecimalType(38, 5), DataTypes.DateType, DataTypes.TimestampType, DataTypes.TimestampNTZType,
      DataTypes.createYearMonthIntervalType(), DataTypes.createDayTimeIntervalType());

  /** How the values of a batch lie. */
  public enum Kind {
    ON_HEAP,
    OFF_HEAP,
    /** Numbers in a dictionary; booleans, for which Spark has none, without. */
    ON_HEAP_DICTIONARY,
    OFF_HEAP_DICTIONARY,
    /** One value for all rows. */
    CONSTANT,
    ARROW,
    /** A class that Sluice does not know. */
    OTHER
  }

  private TestVectors() {}

  /** A column for each type. */
  public static StructType schema(boolean nullable) {
    StructType schema = new StructType();
    for (int i = 0; i < TYPES.size(); i++) {
      schema = schema.add("c" + i, TYPES.get(i), nullable);
    }
    return schema;
  }

  /** Rows of Spark's internal values; of a constant kind all are equal. */
  public static List<Object[]> rows(Random random, Kind kind, int count, boolean nulls) {
    List<Object[]> rows = new ArrayList<>();
    for (int row = 0; row < count; row++) {
      if (kind == Kind.CONSTANT && row > 0) {
        rows.add(rows.get(0));
        continue;
      }
      Object[] values = new Object[TYPES.size()];
      for (int i = 0; i < values.length; i++) {
        if (row > 0 && random.nextInt(3) == 0) {
          // As in columns that have a dictionary.
          values[i] = rows.get(random.nextInt(row))[i];
          continue;
        }
        values[i] = nulls && random.nextInt(3) == 0 ? null : value(random, TYPES.get(i));
      }
      rows.add(values);
    }
    return rows;
  }

  /** A value as Spark's rows have it. */
  public static Object value(Random random, DataType type) {
    return switch (ValueLayout.of(type).orElseThrow()) {
      case BOOLEAN -> random.nextBoolean();
      case BYTE -> (byte) random.nextInt();
      case SHORT -> (short) random.nextInt();
      case INT -> random.nextInt();
      case LONG -> random.nextLong();
      case FLOAT -> random.nextInt(4) == 0 ? -0f : Float.intBitsToFloat(random.nextInt());
      case DOUBLE -> random.nextInt(4) == 0 ? Double.NaN : Double.longBitsToDouble(random.nextLong());
      case INT_DECIMAL, LONG_DECIMAL, WIDE_DECIMAL -> decimal(random, (DecimalType) type);
      case TEXT -> UTF8String.fromString("é" + "x".repeat(random.nextInt(30)) + random.nextInt(100));
      case BYTES -> bytes(random);
    };
  }

  private static byte[] bytes(Random random) {
    byte[] bytes = new byte[random.nextInt(20)];
    random.nextBytes(bytes);
    return bytes;
  }

  private static Decimal decimal(Random random, DecimalType type) {
    BigInteger limit = BigInteger.TEN.pow(type.precision());
    BigInteger unscaled = new BigInteger(limit.bitLength() - 1, random).multiply(
        BigInteger.valueOf(random.nextBoolean() ? 1 : -1)).remainder(limit);
    return Decimal.apply(new BigDecimal(unscaled, type.scale()), type.precision(), type.scale());
  }

  /** A batch of these rows, which the caller closes. */
  public static ColumnarBatch batch(Kind kind, List<Object[]> rows) {
    if (kind == Kind.ARROW) {
      return arrow(schema(true), rows);
    }
    ColumnVector[] columns = new ColumnVector[TYPES.size()];
    for (int i = 0; i < columns.length; i++) {
      columns[i] = vector(kind, TYPES.get(i), column(rows, i));
    }
    return new ColumnarBatch(columns, rows.size());
  }

  private static Object[] column(List<Object[]> rows, int i) {
    return rows.stream().map(row -> row[i]).toArray();
  }

  /** A vector of these values, which the caller closes. */
  public static ColumnVector vector(Kind kind, DataType type, Object... values) {
    boolean dictionary = type != DataTypes.BooleanType;
    return switch (kind) {
      case ON_HEAP -> filled(new OnHeapColumnVector(values.length, type), false, values);
      case OFF_HEAP -> filled(new OffHeapColumnVector(values.length, type), false, values);
      case ON_HEAP_DICTIONARY -> filled(new OnHeapColumnVector(values.length, type), dictionary, values);
      case OFF_HEAP_DICTIONARY -> filled(new OffHeapColumnVector(values.length, type), dictionary, values);
      case CONSTANT -> constant(type, values);
      case OTHER -> new OtherVector(type, values);
      case ARROW -> arrow(
          new StructType().add("c", type), Arrays.stream(values).map(value -> new Object[] {value}).toList()).column(0);
    };
  }

  private static ColumnarBatch arrow(StructType schema, List<Object[]> rows) {
    VectorSchemaRoot root = VectorSchemaRoot.create(
        ArrowUtils$.MODULE$.toArrowSchema(schema, "UTC", true, false), ArrowUtils$.MODULE$.rootAllocator());
    ArrowWriter writer = ArrowWriter.create(root);
    for (Object[] row : rows) {
      InternalRow values = new GenericInternalRow(row);
      writer.write(values);
    }
    writer.finish();
    ColumnVector[] columns = root.getFieldVectors().stream()
        .map((FieldVector vector) -> new ArrowColumnVector(vector)).toArray(ColumnVector[]::new);
    return new ColumnarBatch(columns, rows.size());
  }

  /** Fills a vector from its beginning, with whatever was in it before. */
  static WritableColumnVector filled(WritableColumnVector vector, boolean dictionary, Object... values) {
    WritableColumnVector ids = null;
    if (dictionary) {
      ids = vector.reserveDictionaryIds(values.length);
      vector.setDictionary(new Values(values));
    }
    // Equal values that are one object have one id, the place of the first one.
    Map<Object, Integer> idOf = new IdentityHashMap<>();
    for (int row = 0; row < values.length; row++) {
      if (values[row] == null) {
        vector.putNull(row);
        if (dictionary) {
          // Of no value: what is null must not be looked up.
          ids.putInt(row, Integer.MAX_VALUE);
        }
      } else if (dictionary) {
        ids.putInt(row, idOf.merge(values[row], row, (first, here) -> first));
      } else {
        put(vector, row, values[row]);
      }
    }
    return vector;
  }

  private static void put(WritableColumnVector vector, int row, Object value) {
    DataType type = vector.dataType();
    switch (ValueLayout.of(type).orElseThrow()) {
      case BOOLEAN -> vector.putBoolean(row, (Boolean) value);
      case BYTE -> vector.putByte(row, (Byte) value);
      case SHORT -> vector.putShort(row, (Short) value);
      case INT -> vector.putInt(row, (Integer) value);
      case LONG -> vector.putLong(row, (Long) value);
      case FLOAT -> vector.putFloat(row, (Float) value);
      case DOUBLE -> vector.putDouble(row, (Double) value);
      case INT_DECIMAL, LONG_DECIMAL, WIDE_DECIMAL -> vector.putDecimal(
          row, (Decimal) value, ((DecimalType) type).precision());
      case TEXT -> vector.putByteArray(row, ((UTF8String) value).getBytes());
      case BYTES -> vector.putByteArray(row, (byte[]) value);
    }
  }

  private static ColumnVector constant(DataType type, Object... values) {
    ConstantColumnVector vector = new ConstantColumnVector(values.length, type);
    Object value = values[0];
    if (value == null) {
      vector.setNull();
      return vector;
    }
    vector.setNotNull();
    switch (ValueLayout.of(type).orElseThrow()) {
      case BOOLEAN -> vector.setBoolean((Boolean) value);
      case BYTE -> vector.setByte((Byte) value);
      case SHORT -> vector.setShort((Short) value);
      case INT -> vector.setInt((Integer) value);
      case LONG -> vector.setLong((Long) value);
      case FLOAT -> vector.setFloat((Float) value);
      case DOUBLE -> vector.setDouble((Double) value);
      case INT_DECIMAL, LONG_DECIMAL, WIDE_DECIMAL -> vector.setDecimal(
          (Decimal) value, ((DecimalType) type).precision());
      case TEXT -> vector.setUtf8String((UTF8String) value);
      case BYTES -> vector.setBinary((byte[]) value);
    }
    return vector;
  }

  /** The value of row {@code i} has the id {@code i}. */
  private record Values(Object[] values) implements Dictionary {
    @Override
    public int decodeToInt(int id) {
      return values[id] instanceof Decimal decimal ? (int) decimal.toUnscaledLong() : ((Number) values[id]).intValue();
    }

    @Override
    public long decodeToLong(int id) {
      return values[id] instanceof Decimal decimal ? decimal.toUnscaledLong() : ((Number) values[id]).longValue();
    }

    @Override
    public float decodeToFloat(int id) {
      return (Float) values[id];
    }

    @Override
    public double decodeToDouble(int id) {
      return (Double) values[id];
    }

    @Override
    public byte[] decodeToBinary(int id) {
      return values[id] instanceof UTF8String text ? text.getBytes()
          : values[id] instanceof Decimal decimal ? decimal.toJavaBigDecimal().unscaledValue().toByteArray()
              : (byte[]) values[id];
    }
  }

  /** A connector's own vector. It says that there are no nulls until it is asked for one, as some do. */
  private static final class OtherVector extends ColumnVector {
    private final Object[] values;

    OtherVector(DataType type, Object... values) {
      super(type);
      this.values = Arrays.copyOf(values, values.length);
    }

    @Override
    public void close() {}

    @Override
    public boolean hasNull() {
      return false;
    }

    @Override
    public int numNulls() {
      return 0;
    }

    @Override
    public boolean isNullAt(int row) {
      return values[row] == null;
    }

    @Override
    public boolean getBoolean(int row) {
      return (Boolean) values[row];
    }

    @Override
    public byte getByte(int row) {
      return (Byte) values[row];
    }

    @Override
    public short getShort(int row) {
      return (Short) values[row];
    }

    @Override
    public int getInt(int row) {
      return (Integer) values[row];
    }

    @Override
    public long getLong(int row) {
      return (Long) values[row];
    }

    @Override
    public float getFloat(int row) {
      return (Float) values[row];
    }

    @Override
    public double getDouble(int row) {
      return (Double) values[row];
    }

    @Override
    public ColumnarArray getArray(int row) {
      throw new UnsupportedOperationException();
    }

    @Override
    public ColumnarMap getMap(int ordinal) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Decimal getDecimal(int row, int precision, int scale) {
      return (Decimal) values[row];
    }

    @Override
    public UTF8String getUTF8String(int row) {
      return (UTF8String) values[row];
    }

    @Override
    public byte[] getBinary(int row) {
      return (byte[]) values[row];
    }

    @Override
    public ColumnVector getChild(int ordinal) {
      throw new UnsupportedOperationException();
    }
  }
}
