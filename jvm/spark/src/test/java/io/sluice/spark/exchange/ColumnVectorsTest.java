package io.sluice.spark.exchange;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Descending$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.NullsLast$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The vectors that hold the native partitioning of columns ({@code native/crates/columns}) to Spark and to the row
 * exchange: rows, and the partitions that Spark's expressions give them and {@link HashFinder} finds.
 * {@code -Dsluice.writeDocs=true} writes them.
 */
class ColumnVectorsTest {
  private static final Path FOLDER = Path.of(System.getProperty("sluice.repository"),
      "native", "crates", "columns", "tests", "vectors");
  /** Types, by their format in Arrow's C Data Interface. */
  private static final Map<String, DataType> TYPES = Map.ofEntries(
      Map.entry("b", DataTypes.BooleanType),
      Map.entry("c", DataTypes.ByteType),
      Map.entry("s", DataTypes.ShortType),
      Map.entry("i", DataTypes.IntegerType),
      Map.entry("l", DataTypes.LongType),
      Map.entry("f", DataTypes.FloatType),
      Map.entry("g", DataTypes.DoubleType),
      Map.entry("u", DataTypes.StringType),
      Map.entry("z", DataTypes.BinaryType),
      Map.entry("d:10,2", DataTypes.createDecimalType(10, 2)),
      Map.entry("d:38,5", DataTypes.createDecimalType(38, 5)),
      Map.entry("tdD", DataTypes.DateType),
      Map.entry("tsu:UTC", DataTypes.TimestampType),
      Map.entry("tsu:", DataTypes.TimestampNTZType),
      Map.entry("tiM", DataTypes.createYearMonthIntervalType()),
      Map.entry("tDu", DataTypes.createDayTimeIntervalType()));
  private static final List<String> FORMATS = TYPES.keySet().stream().sorted().toList();

  private static List<Expression> references(List<String> formats) {
    return IntStream.range(0, formats.size())
        .mapToObj(i -> (Expression) new BoundReference(i, TYPES.get(formats.get(i)), true)).toList();
  }

  private static <T> Seq<T> seq(List<? extends T> list) {
    return CollectionConverters.<T>asScala(new ArrayList<T>(list)).toSeq();
  }

  private static Object value(Random random, String format) {
    if (random.nextInt(5) == 0) {
      return null;
    }
    boolean few = random.nextBoolean();
    long any = few ? random.nextInt(5) - 2 : random.nextLong();
    return switch (format) {
      case "b" -> random.nextBoolean();
      case "c" -> (byte) any;
      case "s" -> (short) any;
      case "i", "tdD", "tiM" -> (int) any;
      case "f" -> few ? List.of(0f, -0f, Float.NaN, Float.intBitsToFloat(0xFFC00001), -1f).get(random.nextInt(5))
          : Float.intBitsToFloat((int) any);
      case "g" -> few ? List.of(0d, -0d, Double.NaN, Double.longBitsToDouble(-1), -1d).get(random.nextInt(5))
          : Double.longBitsToDouble(any);
      case "u" -> UTF8String.fromString((few ? "é" : "") + Long.toString(any, 36).substring(random.nextInt(2)));
      case "z" -> {
        byte[] bytes = new byte[random.nextInt(few ? 4 : 30)];
        random.nextBytes(bytes);
        yield bytes;
      }
      case "d:10,2" -> Decimal.apply(BigDecimal.valueOf(any % 9_999_999_999L, 2), 10, 2);
      case "d:38,5" -> Decimal.apply(new BigDecimal(
          BigInteger.valueOf(any).pow(1 + random.nextInt(2)).multiply(BigInteger.valueOf(any < 0 ? -1 : 1))
              .remainder(BigInteger.TEN.pow(38)),
          5), 38, 5);
      default -> any;
    };
  }

  private static UnsafeRow row(Random random, List<String> formats) {
    Object[] values = formats.stream().map(format -> value(random, format)).toArray();
    return UnsafeProjection.create(seq(references(formats))).apply(new GenericInternalRow(values)).copy();
  }

  private static List<String> formats(Random random, int most) {
    return random.ints(1 + random.nextInt(most), 0, FORMATS.size()).mapToObj(FORMATS::get).toList();
  }

  private static String hex(UnsafeRow row) {
    return HexFormat.of().formatHex(row.getBytes());
  }

  private static List<String> hashLines() {
    Random random = new Random(22);
    List<String> lines = new ArrayList<>();
    for (int table = 0; table < 60; table++) {
      // Each type alone at first.
      List<String> formats = table < FORMATS.size() ? List.of(FORMATS.get(table)) : formats(random, 6);
      int partitions = List.of(1, 2, 7, 200, 1 << 20, Integer.MAX_VALUE).get(random.nextInt(6));
      Expression id = new HashPartitioning(seq(references(formats)), partitions).partitionIdExpression();
      List<HashColumn> columns = IntStream.range(0, formats.size()).mapToObj(i -> {
        DataType type = TYPES.get(formats.get(i));
        return HashColumn.of(type, type, i, true).orElseThrow();
      }).toList();
      HashFinder finder = new HashFinder(columns.toArray(new HashColumn[0]), formats.size(), partitions);
      for (int i = 0; i < 12; i++) {
        UnsafeRow row = row(random, formats);
        int partition = (Integer) id.eval(row);
        assertEquals(partition, finder.find(row), () -> formats + " " + row);
        lines.add(String.join(" ", formats) + "|" + partitions + "|" + hex(row) + "|" + partition);
      }
    }
    return lines;
  }

  private static List<String> rangeLines() {
    Random random = new Random(23);
    List<String> lines = new ArrayList<>();
    for (int table = 0; table < 60; table++) {
      List<String> formats = table < FORMATS.size() ? List.of(FORMATS.get(table)) : formats(random, 4);
      List<SortOrder> orders = references(formats).stream().map(column -> new SortOrder(column,
          random.nextBoolean() ? Ascending$.MODULE$ : Descending$.MODULE$,
          random.nextBoolean() ? NullsFirst$.MODULE$ : NullsLast$.MODULE$, seq(List.of()))).toList();
      InterpretedOrdering order = new InterpretedOrdering(seq(orders));
      List<UnsafeRow> bounds = bounds(random, formats, order);
      String head = String.join(" ", formats) + "|"
          + orders.stream()
              .map(o -> (o.isAscending() ? "a" : "d") + (o.nullOrdering() == NullsFirst$.MODULE$ ? "f" : "l"))
              .collect(Collectors.joining(" "))
          + "|" + bounds.stream().map(ColumnVectorsTest::hex).collect(Collectors.joining(" ")) + "|";
      for (int i = 0; i < 8; i++) {
        UnsafeRow row = row(random, formats);
        // As RangePartitioner searches: the first bound that is not less than the row.
        long partition = bounds.stream().filter(bound -> order.compare(row, bound) > 0).count();
        lines.add(head + hex(row) + "|" + partition);
      }
    }
    return lines;
  }

  /** In strictly ascending order, as Spark determines them. */
  private static List<UnsafeRow> bounds(Random random, List<String> formats, InterpretedOrdering order) {
    List<UnsafeRow> bounds = new ArrayList<>();
    IntStream.range(0, random.nextInt(8)).mapToObj(i -> row(random, formats))
        .sorted((one, other) -> order.compare(one, other)).forEach(row -> {
          if (bounds.isEmpty() || order.compare(bounds.get(bounds.size() - 1), (InternalRow) row) < 0) {
            bounds.add(row);
          }
        });
    return bounds;
  }

  private static void check(String file, List<String> lines) throws IOException {
    Path path = FOLDER.resolve(file);
    if (Boolean.getBoolean("sluice.writeDocs")) {
      Files.write(path, lines);
    }
    assertTrue(lines.size() > 300);
    assertEquals(lines, Arrays.asList(Files.readString(path).split("\n")),
        "run this test with -Dsluice.writeDocs=true");
  }

  @Test
  void hashesOfTheVectorsAreThoseOfSparkAndOfTheRowExchange() throws IOException {
    check("hash.txt", hashLines());
  }

  @Test
  void rangesOfTheVectorsAreThoseOfSpark() throws IOException {
    check("range.txt", rangeLines());
  }
}
