package io.sluice.spark.comet;

import io.sluice.spark.SluiceException;
import java.lang.reflect.InvocationTargetException;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import scala.Product2;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * Comet's batches from rows, by Comet's own converter: for sealed frames, and executors without the native core. It has
 * no nested types: of a struct, Comet 0.12 makes a vector without children.
 */
final class RowsToBatches {
  private static final String CLASS = "org.apache.spark.sql.comet.execution.arrow.CometArrowConverters";
  private static final long ROWS = 8192;

  private RowsToBatches() {}

  /** Pairs of 0 and batch, of pairs of partition and row. */
  static Iterator<Product2<Object, Object>> of(
      Iterator<? extends Product2<?, ?>> rows, StructType schema, ClassLoader comets, TaskContext context) {
    try {
      Iterator<InternalRow> values = rows.map(pair -> (InternalRow) pair._2());
      Iterator<?> batches = (Iterator<?>) Class.forName(CLASS, true, comets)
          .getMethod("rowToArrowBatchIter", Iterator.class, StructType.class, long.class, String.class,
              TaskContext.class)
          .invoke(null, values, schema, ROWS, "UTC", context);
      return batches.map(batch -> new Tuple2<>(0, batch));
    } catch (InvocationTargetException e) {
      throw new SluiceException("Comet's " + CLASS + " could not make batches of " + schema, e.getCause());
    } catch (ReflectiveOperationException e) {
      throw new SluiceException("Comet's " + CLASS + " is not as in Comet " + CometSession.KNOWN
          + "; set spark.sluice.comet=false with another version", e);
    }
  }
}
