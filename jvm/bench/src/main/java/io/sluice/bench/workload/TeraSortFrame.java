package io.sluice.bench.workload;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.udf;

import io.sluice.bench.check.SortColumn;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.types.DataTypes;

/** TeraSort's records as a DataFrame of two binary columns, totally ordered by key. */
public final class TeraSortFrame extends DataFrameWorkload {

  @Override
  protected Dataset<Row> query(SparkSession spark, Sizing sizing) {
    UserDefinedFunction key = udf((UDF1<Long, byte[]>) TeraRecord::key, DataTypes.BinaryType);
    UserDefinedFunction value = udf((UDF1<Long, byte[]>) TeraRecord::value, DataTypes.BinaryType);
    return spark.range(0, sizing.rows(), 1, sizing.maps())
        .select(key.apply(col("id")).as("key"), value.apply(col("id")).as("value"))
        .orderBy(col("key"));
  }

  @Override
  protected List<SortColumn> order() {
    return List.of(SortColumn.ascending("key"));
  }
}
