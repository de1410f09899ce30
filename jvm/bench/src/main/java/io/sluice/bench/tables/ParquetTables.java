package io.sluice.bench.tables;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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

/**
 * Tables in Parquet files: written by one Spark job each; read as temporary views, or from Spark's catalog where it
 * must know more of them than their schema.
 */
public final class ParquetTables {

  /** The tables that a session finds; those of two benchmarks have names in common. */
  private static final Map<SparkSession, TableFiles> REGISTERED = Collections.synchronizedMap(new WeakHashMap<>());

  private static final int BUCKETS = 8;

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
    write(generated.selectExpr(columns(schema)), table, tables);
  }

  private static void write(Dataset<Row> rows, GeneratedTable table, TableFiles tables) {
    String path = tables.path(table);
    Optional<String> day = tables.form() == TableForm.PARTITIONED ? table.partitionColumn() : Optional.empty();
    Optional<String> bucket = tables.form() == TableForm.BUCKETED ? table.bucketColumn() : Optional.empty();
    if (day.isPresent()) {
      // One file per folder.
      rows.repartition(rows.col(day.get())).write().mode(SaveMode.Overwrite).partitionBy(day.get()).parquet(path);
    } else if (bucket.isPresent()) {
      // One file per bucket. Only a table of the catalog can be written in buckets.
      rows.repartition(BUCKETS, rows.col(bucket.get())).write().mode(SaveMode.Overwrite).format("parquet")
          .bucketBy(BUCKETS, bucket.get()).sortBy(bucket.get()).option("path", path).saveAsTable(table.label());
    } else {
      rows.write().mode(SaveMode.Overwrite).parquet(path);
    }
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
      switch (tables.form()) {
        case PLAIN, PARTITIONED -> spark.read().schema(schema(table)).parquet(tables.path(table))
            .createOrReplaceTempView(table.label());
        case BUCKETED -> create(spark, table, tables, table.bucketColumn().map(column -> " CLUSTERED BY (" + column
            + ") SORTED BY (" + column + ") INTO " + BUCKETS + " BUCKETS").orElse(""));
        case CBO -> {
          if (create(spark, table, tables, "")) {
            spark.sql("ANALYZE TABLE " + table.label() + " COMPUTE STATISTICS FOR ALL COLUMNS");
          }
        }
      }
    }
    REGISTERED.put(spark, tables);
  }

  /** Puts {@code table} into the catalog, which sessions of an application share; returns whether it was not there. */
  private static boolean create(SparkSession spark, GeneratedTable table, TableFiles tables, String buckets) {
    if (spark.catalog().tableExists(table.label())) {
      return false;
    }
    spark.sql("CREATE TABLE " + table.label() + " (" + table.columns() + ") USING parquet" + buckets + " LOCATION '"
        + tables.path(table) + "'");
    return true;
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
