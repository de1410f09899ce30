package io.sluice.bench.tables;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Tables in Parquet files: written by one Spark job each, one file per part; read as temporary views. */
public final class ParquetTables {

  /** The tables that a session finds; those of two benchmarks have names in common. */
  private static final Map<SparkSession, TableFiles> REGISTERED = Collections.synchronizedMap(new WeakHashMap<>());

  private ParquetTables() {}

  /** Makes {@code table}; files that are there already are replaced. */
  public static void write(SparkSession spark, GeneratedTable table, TableFiles tables) {
    int parts = table.parts(tables.scale());
    double scale = tables.scale();
    JavaRDD<Row> rows = JavaSparkContext.fromSparkContext(spark.sparkContext())
        .parallelize(IntStream.rangeClosed(1, parts).boxed().toList(), parts)
        .mapPartitions(numbers -> rows(table, scale, numbers.next(), parts));
    StructType schema = schema(table);
    Dataset<Row> generated = spark.createDataFrame(rows, withDaysForDates(schema));
    generated.selectExpr(columns(schema)).write().mode(SaveMode.Overwrite).parquet(tables.path(table));
  }

  /**
   * Lets {@code spark} find every table that was made by its name, unless it can already. The files are listed here, so
   * queries do not do it.
   */
  public static void register(SparkSession spark, TableFiles tables) {
    if (tables.equals(REGISTERED.get(spark))) {
      return;
    }
    for (GeneratedTable table : made(tables)) {
      spark.read().schema(schema(table)).parquet(tables.path(table)).createOrReplaceTempView(table.label());
    }
    REGISTERED.put(spark, tables);
  }

  /** Those whose files are there: only tables that are read are made. */
  private static List<? extends GeneratedTable> made(TableFiles tables) {
    return tables.benchmark().tables().stream().filter(table -> Files.exists(Path.of(tables.path(table)))).toList();
  }

  public static StructType schema(GeneratedTable table) {
    return StructType.fromDDL(table.columns());
  }

  private static Iterator<Row> rows(GeneratedTable table, double scale, int part, int parts) {
    Iterator<Object[]> values = table.rows(scale, part, parts);
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return values.hasNext();
      }

      @Override
      public Row next() {
        return RowFactory.create(values.next());
      }
    };
  }

  /** Days stay numbers until Spark has them: date objects cost more than the rest of a row. */
  private static StructType withDaysForDates(StructType schema) {
    StructType days = new StructType();
    for (StructField field : schema.fields()) {
      days = days.add(field.name(), isDate(field) ? DataTypes.IntegerType : field.dataType());
    }
    return days;
  }

  private static String[] columns(StructType schema) {
    StructField[] fields = schema.fields();
    String[] columns = new String[fields.length];
    for (int i = 0; i < fields.length; i++) {
      String name = fields[i].name();
      columns[i] = isDate(fields[i]) ? "date_from_unix_date(" + name + ") AS " + name : name;
    }
    return columns;
  }

  private static boolean isDate(StructField field) {
    return field.dataType().equals(DataTypes.DateType);
  }
}
