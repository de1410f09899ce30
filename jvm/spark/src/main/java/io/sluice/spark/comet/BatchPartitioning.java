package io.sluice.spark.comet;

import io.sluice.nativebridge.NativeColumns;
import io.sluice.spark.SluiceException;
import io.sluice.spark.columnar.BatchPartitions;
import io.sluice.spark.columnar.NativeRanges;
import io.sluice.spark.columnar.OpenBatch;
import io.sluice.spark.columnar.RangeKeys;
import io.sluice.spark.compat.RangeBounds;
import io.sluice.spark.sql.SortColumn;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
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
import org.apache.spark.sql.types.StructType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.Iterator;
import scala.collection.Seq;

import org.apache.spark.sql.catalyst.expressions.NullsFirst$;

/**
 * How the batches of one of Comet's exchanges are divided: natively where the keys are columns that are hashed or
 * ordered, else row by row, by Spark's own expressions. One task; one thread.
 *
 * <p>Of ranges, whose bounds are read from Spark's partitioner, the first rows of the task are given to that
 * partitioner too: if it finds another partition, it finds those of all rows of this and the following batches, with a
 * warning.
 */
final class BatchPartitioning implements BatchPartitions, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(BatchPartitioning.class);
  private static final String COLUMNS = "org.apache.spark.sql.catalyst.expressions.package$AttributeSeq";
  /** Of a task. */
  private static final int COMPARED_ROWS = 64;

  private final Partitioning partitioning;
  /** As the partitioning's keys name them. */
  private final Seq<?> attributes;
  private final Partitioner partitioner;
  /** Null where the native core does not find ranges. */
  private final NativeRanges ranges;
  private final long[] numbers;
  /** Made for the first row that Spark's code makes. */
  private ToIntFunction<UnsafeRow> function;
  private int compared;
  private boolean refuted;
  private long asked;

  /**
   * @param attributes the batches' columns, as the partitioning's keys name them
   * @param schema the same
   * @param partitioner of the exchange's shuffle
   * @param nativeCore whether the native core has columns for the batches
   */
  BatchPartitioning(Partitioning partitioning, Seq<?> attributes, StructType schema, Partitioner partitioner,
      boolean nativeCore) {
    this.partitioning = partitioning;
    this.attributes = attributes;
    this.partitioner = partitioner;
    this.ranges = nativeCore && partitioning instanceof RangePartitioning ? openRanges(schema) : null;
    this.numbers = ranges != null ? ranges.numbers() : nativeCore ? findNumbers() : null;
  }

  @Override
  public long[] numbers() {
    return refuted ? null : numbers;
  }

  @Override
  public boolean accepts(OpenBatch batch) {
    if (ranges == null) {
      return true;
    }
    int count = Math.min(batch.rows(), COMPARED_ROWS - compared);
    for (int i = 0; i < count; i++) {
      int sparks = find(batch.row(i));
      if (sparks != batch.foundPartition(i)) {
        LOG.warn("Spark's partitioner puts a row of Comet's exchange into partition {} and not {}; from now on it "
            + "finds all partitions of this task. Please report this with the query's plan", sparks,
            batch.foundPartition(i));
        refuted = true;
        return false;
      }
    }
    compared += count;
    asked += count;
    return true;
  }

  @Override
  public int partition(UnsafeRow row) {
    asked++;
    return find(row);
  }

  private int find(UnsafeRow row) {
    if (function == null) {
      function = function();
    }
    return function.applyAsInt(row);
  }

  /** How many rows were given to Spark's code. */
  long asked() {
    return asked;
  }

  /** Whether Spark's partitioner disagreed. */
  boolean refuted() {
    return refuted;
  }

  /** Null where a key is no column, or of a type that the native core does not order. */
  private NativeRanges openRanges(StructType schema) {
    List<SortColumn> columns = new ArrayList<>();
    Iterator<?> ordering = get("ordering").iterator();
    while (ordering.hasNext()) {
      SortOrder order = (SortOrder) ordering.next();
      Optional<SortColumn> column = order.child() instanceof Attribute key ? sortColumn(order, key) : Optional.empty();
      if (!column.isPresent()) {
        return null;
      }
      columns.add(column.get());
    }
    return RangeKeys.of(columns, schema)
        .map(keys -> NativeRanges.open(keys, RangeBounds.of(partitioner))).orElse(null);
  }

  private Optional<SortColumn> sortColumn(SortOrder order, Attribute key) {
    int column = columnOf(key);
    return column < 0 ? Optional.empty() : SortColumn.of(key.dataType(), column, key.nullable(), !order.isAscending(),
        order.nullOrdering() == NullsFirst$.MODULE$);
  }

  private long[] findNumbers() {
    if (partitioner.numPartitions() == 1 && !(partitioning instanceof RangePartitioning)) {
      return new long[] {NativeColumns.SINGLE, 1};
    }
    if (!(partitioning instanceof HashPartitioning)) {
      return null;
    }
    List<Long> found = new ArrayList<>(List.of((long) NativeColumns.HASH, (long) partitioner.numPartitions()));
    Iterator<?> keys = get("expressions").iterator();
    while (keys.hasNext()) {
      int column = keys.next() instanceof Attribute key ? columnOf(key) : -1;
      if (column < 0) {
        return null;
      }
      found.add((long) column);
    }
    return found.stream().mapToLong(Long::longValue).toArray();
  }

  private int columnOf(Attribute key) {
    Iterator<?> columns = attributes.iterator();
    for (int i = 0; columns.hasNext(); i++) {
      if (((Attribute) columns.next()).exprId().equals(key.exprId())) {
        return i;
      }
    }
    return -1;
  }

  private ToIntFunction<UnsafeRow> function() {
    if (partitioning instanceof HashPartitioning hash) {
      UnsafeProjection id = UnsafeProjection.create(bind(hash.partitionIdExpression()));
      return row -> id.apply(row).getInt(0);
    }
    if (partitioning instanceof RangePartitioning) {
      List<Expression> keys = new ArrayList<>();
      Iterator<?> ordering = get("ordering").iterator();
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
      Object all = columns.getConstructors()[0].newInstance(attributes);
      return (Expression) BindReferences.class.getMethod("bindReference", Expression.class, columns, boolean.class)
          .invoke(null, expression, all, false);
    } catch (ReflectiveOperationException e) {
      throw new SluiceException("Spark cannot bind the key " + expression + " of Comet's exchange", e);
    }
  }

  /** A sequence, whose type in the method's signature differs between Scala 2.12 and 2.13. */
  private Seq<?> get(String name) {
    try {
      return (Seq<?>) partitioning.getClass().getMethod(name).invoke(partitioning);
    } catch (ReflectiveOperationException e) {
      throw new SluiceException(partitioning.getClass() + " has no '" + name + "' that can be asked for", e);
    }
  }

  @Override
  public void close() {
    if (ranges != null) {
      ranges.close();
    }
  }
}
