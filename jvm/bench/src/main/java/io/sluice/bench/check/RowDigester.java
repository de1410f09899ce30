package io.sluice.bench.check;

import static org.apache.spark.sql.functions.xxhash64;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * Digests a query's result on the executors.
 *
 * <p>The rows are hashed by SQL but folded by an RDD function: an SQL aggregate above a sort lets Spark's
 * optimizer drop the sort, and so the shuffle that is to be checked.
 */
public final class RowDigester {

  private RowDigester() {}

  /** Runs {@code result} and digests it; {@code order} are the columns by which it must be sorted. */
  public static Digest digest(Dataset<Row> result, List<SortColumn> order) {
    List<String> original = Arrays.asList(result.columns());
    String[] names = new String[original.size()];
    for (int i = 0; i < names.length; i++) {
      names[i] = "c" + i;
    }
    Dataset<Row> named = result.toDF(names);
    List<Column> columns = new ArrayList<>();
    Column[] all = new Column[names.length];
    for (int i = 0; i < names.length; i++) {
      all[i] = named.col(names[i]);
    }
    columns.add(xxhash64(all));
    order.forEach(column -> columns.add(all[original.indexOf(column.name())]));
    List<Boolean> descending = order.stream().map(SortColumn::descending).toList();
    return PartitionDigest.combine(named.select(columns.toArray(Column[]::new)).javaRDD()
        .mapPartitions(rows -> List.of(PartitionDigest.of(rows, descending)).iterator())
        .collect());
  }
}
