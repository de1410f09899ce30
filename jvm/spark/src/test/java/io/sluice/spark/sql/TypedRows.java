package io.sluice.spark.sql;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.Period;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimeType;

/** A table with columns of every type that Sluice knows the order and the hash of, always with the same values. */
public final class TypedRows {
  /** Without it Spark makes no tables with columns of type TIME. */
  public static final String TIME_SETTING = "spark.sql.timeType.enabled";

  private static final int LONG_TEXT = 20_000;
  private static final long NANOS_OF_DAY = 86_400_000_000_000L;

  /** A type and where its values come from. */
  private record Column(DataType type, Function<Random, Object> values) {}

  private static final List<Column> COLUMNS = List.of(
      new Column(DataTypes.BooleanType, Random::nextBoolean),
      new Column(DataTypes.ByteType, random -> (byte) whole(random, Byte.MIN_VALUE, Byte.MAX_VALUE)),
      new Column(DataTypes.ShortType, random -> (short) whole(random, Short.MIN_VALUE, Short.MAX_VALUE)),
      new Column(DataTypes.IntegerType, random -> (int) whole(random, Integer.MIN_VALUE, Integer.MAX_VALUE)),
      new Column(DataTypes.LongType, random -> whole(random, Long.MIN_VALUE, Long.MAX_VALUE)),
      new Column(DataTypes.FloatType, TypedRows::floatingPoint),
      new Column(DataTypes.DoubleType, TypedRows::doublePrecision),
      new Column(DataTypes.StringType, TypedRows::text),
      new Column(DataTypes.BinaryType, TypedRows::bytes),
      new Column(DataTypes.createDecimalType(10, 2), random -> decimal(random, 10, 2)),
      new Column(DataTypes.createDecimalType(30, 5), random -> decimal(random, 30, 5)),
      new Column(DataTypes.DateType, TypedRows::date),
      new Column(DataTypes.TimestampType, TypedRows::timestamp),
      new Column(DataTypes.createDecimalType(38, 0), random -> decimal(random, 38, 0)),
      new Column(DataTypes.createDecimalType(18, 18), random -> decimal(random, 18, 18)),
      new Column(DataTypes.TimestampNTZType, random -> LocalDateTime.ofInstant(instant(random), ZoneOffset.UTC)),
      new Column(new TimeType(6),
          random -> LocalTime.ofNanoOfDay(whole(random, 0, NANOS_OF_DAY - 1) / 1000 * 1000)),
      new Column(DataTypes.createYearMonthIntervalType(),
          random -> Period.ofMonths((int) whole(random, Integer.MIN_VALUE, Integer.MAX_VALUE))),
      new Column(DataTypes.createDayTimeIntervalType(),
          random -> Duration.of(whole(random, Long.MIN_VALUE, Long.MAX_VALUE), ChronoUnit.MICROS)));

  public static final List<DataType> TYPES = COLUMNS.stream().map(Column::type).toList();

  private TypedRows() {}

  /**
   * One partition: {@code id}, and for the type at each place {@code i} a column {@code n<i>} with nulls and a column
   * {@code v<i>} without. Spark keeps the rows.
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
      for (Column column : COLUMNS) {
        row.add(random.nextInt(5) == 0 ? null : column.values().apply(random));
        row.add(column.values().apply(random));
      }
      rows.add(RowFactory.create(row.toArray()));
    }
    return session.createDataFrame(rows, schema).localCheckpoint().coalesce(1);
  }

  /** Half of the values are few, so that many are equal; the least and the greatest are among these. */
  private static long whole(Random random, long least, long greatest) {
    return switch (random.nextInt(12)) {
      case 0 -> least;
      case 1 -> greatest;
      case 2, 3, 4, 5 -> Math.max(least, random.nextInt(4) - 2);
      default -> any(random, least, greatest);
    };
  }

  private static long any(Random random, long least, long greatest) {
    return greatest == Long.MAX_VALUE ? random.nextLong() : random.nextLong(least, greatest + 1);
  }

  private static Object floatingPoint(Random random) {
    float[] special = {0f, -0f, Float.NaN, Float.intBitsToFloat(0xFFC00001), Float.NEGATIVE_INFINITY,
      Float.POSITIVE_INFINITY, Float.MIN_VALUE, Float.MAX_VALUE, -Float.MAX_VALUE, 1e-40f};
    return random.nextBoolean() ? special[random.nextInt(special.length)] : Float.intBitsToFloat(random.nextInt());
  }

  private static Object doublePrecision(Random random) {
    double[] special = {0d, -0d, Double.NaN, Double.longBitsToDouble(-1L), Double.NEGATIVE_INFINITY,
      Double.POSITIVE_INFINITY, Double.MIN_VALUE, Double.MAX_VALUE, -Double.MAX_VALUE, -1e-310};
    return random.nextBoolean() ? special[random.nextInt(special.length)]
        : Double.longBitsToDouble(random.nextLong());
  }

  private static Object bytes(Random random) {
    byte[] bytes = new byte[random.nextInt(500) == 0 ? LONG_TEXT + random.nextInt(3) : random.nextInt(20)];
    if (random.nextBoolean()) {
      random.nextBytes(bytes);
    }
    return bytes;
  }

  /** All digits are nines in the least and the greatest. */
  private static Object decimal(Random random, int precision, int scale) {
    BigInteger greatest = BigInteger.TEN.pow(precision).subtract(BigInteger.ONE);
    BigInteger unscaled = switch (random.nextInt(12)) {
      case 0 -> greatest;
      case 1 -> greatest.negate();
      case 2, 3, 4, 5 -> BigInteger.valueOf(random.nextInt(4) - 2);
      // Of all lengths.
      default -> new BigInteger(1 + random.nextInt(greatest.bitLength() - 1), random)
          .multiply(BigInteger.valueOf(random.nextBoolean() ? 1 : -1));
    };
    return new BigDecimal(unscaled, scale);
  }

  private static Object date(Random random) {
    return random.nextBoolean() ? LocalDate.ofEpochDay(whole(random, Integer.MIN_VALUE, Integer.MAX_VALUE))
        : new Date(86_400_000L * (random.nextInt(40_000) - 20_000));
  }

  private static Object timestamp(Random random) {
    return random.nextBoolean() ? instant(random) : new Timestamp(random.nextInt() * 1000L);
  }

  private static Instant instant(Random random) {
    return Instant.EPOCH.plus(whole(random, Long.MIN_VALUE, Long.MAX_VALUE), ChronoUnit.MICROS);
  }

  private static String text(Random random) {
    String[] starts = {"", "a", "ab", "prefix-of-many-", "prefix-of-many-strings-that-differ-late-", "\0", "\0\0", "é"};
    String start = starts[random.nextInt(starts.length)];
    if (random.nextInt(500) == 0) {
      return "long".repeat(LONG_TEXT / 4) + start;
    }
    return switch (random.nextInt(4)) {
      case 0 -> start;
      case 1 -> start + "\0".repeat(random.nextInt(12));
      case 2 -> start + random.nextInt(3);
      default -> start + Long.toString(random.nextLong(), 36);
    };
  }
}
