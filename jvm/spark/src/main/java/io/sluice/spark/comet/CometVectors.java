package io.sluice.spark.comet;

import io.sluice.spark.SluiceException;
import io.sluice.spark.columnar.ArrowStructs;
import io.sluice.spark.columnar.BatchExport;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.Function2;
import scala.Option;

/**
 * Comet's own code that passes its vectors through Arrow's C Data Interface ({@code NativeUtil}), which shades Arrow.
 * For one task; one thread at a time.
 */
final class CometVectors implements BatchExport {
  private static final String CLASS = "org.apache.comet.vector.NativeUtil";
  private static final String VECTOR = "org.apache.comet.vector.CometVector";
  private static final String WITH_SELECTION = "org.apache.comet.vector.CometSelectionVector";

  private final Object nativeUtil;
  private final MethodHandle exportBatch;
  private final MethodHandle getNextBatch;
  private final MethodHandle close;
  private final Class<?> vector;

  /** @param comets the loader of Comet's classes */
  CometVectors(ClassLoader comets) {
    try {
      Class<?> type = Class.forName(CLASS, true, comets);
      vector = Class.forName(VECTOR, false, comets);
      MethodHandles.Lookup lookup = MethodHandles.publicLookup();
      nativeUtil = type.getConstructor().newInstance();
      exportBatch = lookup.findVirtual(type, "exportBatch",
          MethodType.methodType(int.class, long[].class, long[].class, ColumnarBatch.class));
      getNextBatch = lookup.findVirtual(type, "getNextBatch",
          MethodType.methodType(Option.class, int.class, Function2.class));
      close = lookup.findVirtual(type, "close", MethodType.methodType(void.class));
    } catch (ReflectiveOperationException e) {
      throw new SluiceException("Comet's " + CLASS + " is not as in Comet " + CometSession.KNOWN
          + "; set spark.sluice.comet=false with another version", e);
    }
  }

  @Override
  public boolean export(ColumnarBatch batch, ArrowStructs structs) {
    if (!canExport(batch)) {
      return false;
    }
    try {
      int rows = (int) exportBatch.invoke(nativeUtil, structs.arrays(), structs.schemas(), batch);
      // More when some of them are deleted.
      return rows == batch.numRows();
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new SluiceException("Comet could not export a batch of " + batch.numCols() + " columns", e);
    }
  }

  /** Whether all columns are Comet's vectors, each with all of its values. */
  private boolean canExport(ColumnarBatch batch) {
    for (int i = 0; i < batch.numCols(); i++) {
      ColumnVector column = batch.column(i);
      if (!vector.isInstance(column) || column.getClass().getName().equals(WITH_SELECTION)) {
        return false;
      }
    }
    return true;
  }

  /** The batch of structs, which are moved: those in memory count as released then. */
  ColumnarBatch importBatch(ArrowStructs structs, long rows) {
    // Runs inside getNextBatch, with the addresses of structs that Comet has allocated.
    Function2<long[], long[], Object> move = (arrays, schemas) -> {
      structs.moveTo(arrays, schemas);
      return rows;
    };
    try {
      return (ColumnarBatch) ((Option<?>) getNextBatch.invoke(nativeUtil, structs.columns(), move)).get();
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new SluiceException("Comet could not import a batch of " + structs.columns() + " columns", e);
    }
  }

  @Override
  public void close() {
    try {
      close.invoke(nativeUtil);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new SluiceException("closing " + CLASS, e);
    }
  }
}
