package io.sluice.spark.comet;

import io.sluice.nativebridge.NativeColumns;
import io.sluice.spark.SluiceException;
import io.sluice.spark.columnar.BatchPartitions;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToIntFunction;
import org.apache.spark.Partitioner;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BindReferences;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.plans.physical.RangePartitioning;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * How the batches of one of Comet's exchanges are divided: natively where the keys are columns that are hashed, else
 * row by row, by Spark's own expressions. One task.
 */
final class BatchPartitioning implements BatchPartitions {
  private static final String COLUMNS = "org.apache.spark.sql.catalyst.expressions.package$AttributeSeq";

  private final CometDependency exchange;
  private final Partitioner partitioner;
  private final long[] numbers;
  /** Made for the first row that Spark's code makes. */
  private ToIntFunction<UnsafeRow> function;

  BatchPartitioning(CometDependency exchange) {
    this.exchange = exchange;
    this.partitioner = exchange.dependency().partitioner();
    this.numbers = findNumbers();
  }

  @Override
  public long[] numbers() {
    return numbers;
  }

  @Override
  public int partition(UnsafeRow row) {
    if (function == null) {
      function = function();
    }
    return function.applyAsInt(row);
  }

  private long[] findNumbers() {
    Partitioning partitioning = exchange.partitioning();
    if (partitioner.numPartitions() == 1 && !(partitioning instanceof RangePartitioning)) {
      return new long[] {NativeColumns.SINGLE, 1};
    }
    if (!(partitioning instanceof HashPartitioning)) {
      return null;
    }
    List<Long> numbers = new ArrayList<>(List.of((long) NativeColumns.HASH, (long) partitioner.numPartitions()));
    Iterator<?> keys = ((Seq<?>) get(partitioning, "expressions")).iterator();
    while (keys.hasNext()) {
      int column = keys.next() instanceof Attribute key ? columnOf(key) : -1;
      if (column < 0) {
        return null;
      }
      numbers.add((long) column);
    }
    return numbers.stream().mapToLong(Long::longValue).toArray();
  }

  private int columnOf(Attribute key) {
    Iterator<?> columns = exchange.attributes().iterator();
    for (int i = 0; columns.hasNext(); i++) {
      if (((Attribute) columns.next()).exprId().equals(key.exprId())) {
        return i;
      }
    }
    return -1;
  }

  private ToIntFunction<UnsafeRow> function() {
    Partitioning partitioning = exchange.partitioning();
    if (partitioning instanceof HashPartitioning hash) {
      UnsafeProjection id = UnsafeProjection.create(bind(hash.partitionIdExpression()));
      return row -> id.apply(row).getInt(0);
    }
    if (partitioning instanceof RangePartitioning) {
      List<Expression> keys = new ArrayList<>();
      Iterator<?> ordering = ((Seq<?>) get(partitioning, "ordering")).iterator();
      while (ordering.hasNext()) {
        keys.add(bind(((SortOrder) ordering.next()).child()));
      }
      return row -> partitioner.getPartition(
          new GenericInternalRow(keys.stream().map(key -> key.eval(row)).toArray()));
    }
    if (partitioner.numPartitions() == 1) {
      return row -> 0;
    }
    throw new SluiceException("Comet's exchange divides batches by " + partitioning
        + ", which Sluice does not know; set spark.sluice.comet=false");
  }

  /** By reflection: Java cannot name a class of Scala's package object, whose constructor differs by Scala line. */
  private Expression bind(Expression expression) {
    try {
      Class<?> columns = Class.forName(COLUMNS, true, Expression.class.getClassLoader());
      Object all = columns.getConstructors()[0].newInstance(exchange.attributes());
      return (Expression) BindReferences.class.getMethod("bindReference", Expression.class, columns, boolean.class)
          .invoke(null, expression, all, false);
    } catch (ReflectiveOperationException e) {
      throw new SluiceException("Spark cannot bind the key " + expression + " of Comet's exchange", e);
    }
  }

  /** A sequence, whose type in the method's signature differs between Scala 2.12 and 2.13. */
  private static Object get(Partitioning partitioning, String name) {
    try {
      return partitioning.getClass().getMethod(name).invoke(partitioning);
    } catch (ReflectiveOperationException e) {
      throw new SluiceException(partitioning.getClass() + " has no '" + name + "' that can be asked for", e);
    }
  }
}
