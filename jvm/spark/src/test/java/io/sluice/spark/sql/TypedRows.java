package io.sluice.spark.sql;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Date;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** A table with columns of every type that Sluice knows the order and the hash of, always with the same values. */
public final class TypedRows {
  public static final List<DataType> TYPES = List.of(DataTypes.BooleanType, DataTypes.ByteType, DataTypes.ShortType,
      DataTypes.IntegerType, DataTypes.LongType, DataTypes.FloatType, DataTypes.DoubleType, DataTypes.StringType,
      DataTypes.BinaryType, DataTypes.createDecimalType(10, 2), DataTypes.createDecimalType(30, 5),
      DataTypes.DateType, DataTypes.TimestampType);

  private TypedRows() {}

  /**
   * One partition: {@code id}, and for the type at each place {@code i} a column {@code n<i>} with nulls and a column
   * {@code v<i>} without.
   */
  public static Dataset<Row> table(SparkSession session, int count) {
    StructType schema = new StructType().add("id", DataTypes.LongType, false);
    for (int i = 0; i < TYPES.size(); i++) {
      schema = schema.add("n" + i, TYPES.get(i), true).add("v" + i, TYPES.get(i), false);
    }
    Random random = new Random(42);
    List<Row> rows = new ArrayList<>();
    for (long id = 0; id < count; id++) {
      List<Object> row = new ArrayList<>();
      row.add(id);
      for (DataType type : TYPES) {
        row.add(random.nextInt(5) == 0 ? null : value(type, random));
        row.add(value(type, random));
      }
      rows.add(RowFactory.create(row.toArray()));
    }
    return session.createDataFrame(rows, schema).coalesce(1);
  }

  /** Few values of each type, so that many are equal; with those that compare in special ways. */
  private static Object value(DataType type, Random random) {
    boolean few = random.nextBoolean();
    int small = random.nextInt(4) - 2;
    if (type.equals(DataTypes.BooleanType)) {
      return random.nextBoolean();
    } else if (type.equals(DataTypes.ByteType)) {
      return (byte) (few ? small : random.nextInt());
    } else if (type.equals(DataTypes.ShortType)) {
      return (short) (few ? small : random.nextInt());
    } else if (type.equals(DataTypes.IntegerType)) {
      return few ? small : random.nextInt();
    } else if (type.equals(DataTypes.LongType)) {
      return few ? small : random.nextLong();
    } else if (type.equals(DataTypes.FloatType)) {
      float[] special = {0f, -0f, Float.NaN, Float.intBitsToFloat(0xFFC00001), Float.NEGATIVE_INFINITY, 1e-40f};
      return few ? special[random.nextInt(special.length)] : Float.intBitsToFloat(random.nextInt());
    } else if (type.equals(DataTypes.DoubleType)) {
      double[] special = {0d, -0d, Double.NaN, Double.longBitsToDouble(-1L), Double.POSITIVE_INFINITY, -1e-310};
      return few ? special[random.nextInt(special.length)] : Double.longBitsToDouble(random.nextLong());
    } else if (type.equals(DataTypes.StringType)) {
      return text(random);
    } else if (type.equals(DataTypes.BinaryType)) {
      byte[] bytes = new byte[random.nextInt(20)];
      if (!few) {
        random.nextBytes(bytes);
      }
      return bytes;
    } else if (type.equals(DataTypes.DateType)) {
      return new Date(86_400_000L * (few ? small : random.nextInt(40_000) - 20_000));
    } else if (type.equals(DataTypes.TimestampType)) {
      return new Timestamp(few ? small : random.nextInt() * 1000L);
    } else if (type.equals(DataTypes.createDecimalType(10, 2))) {
      return new BigDecimal(BigInteger.valueOf(few ? small : random.nextInt()), 2);
    }
    return new BigDecimal(
        few ? BigInteger.valueOf(small) : new BigInteger(90, random).subtract(BigInteger.ONE.shiftLeft(
            89)),
        5);
  }

  private static String text(Random random) {
    String[] starts = {"", "a", "ab", "prefix-of-many-", "prefix-of-many-strings-that-differ-late-", "\0", "\0\0", "é"};
    String start = starts[random.nextInt(starts.length)];
    return switch (random.nextInt(4)) {
      case 0 -> start;
      case 1 -> start + "\0".repeat(random.nextInt(12));
      case 2 -> start + random.nextInt(3);
      default -> start + Long.toString(random.nextLong(), 36);
    };
  }
}
