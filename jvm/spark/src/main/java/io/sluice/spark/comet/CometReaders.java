package io.sluice.spark.comet;

import io.sluice.spark.SluiceException;
import io.sluice.spark.columnar.BatchTypes;
import io.sluice.spark.decode.FrameGroup;
import io.sluice.spark.decode.ReadMemory;
import io.sluice.spark.fetch.FetchFailures;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Constructor;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import scala.Product2;
import scala.collection.Iterator;

/** Makes readers of Comet's exchanges. Any thread. */
public final class CometReaders {
  private static final String READER = "io.sluice.spark.comet.CometReader";
  private static final Map<ClassLoader, Constructor<?>> CONSTRUCTORS = new ConcurrentHashMap<>();

  private CometReaders() {}

  /** A reader of Comet's class, whose records are those of {@code batches}. */
  @SuppressWarnings("unchecked") // Its records are batches, whatever C is.
  public static <K, C> ShuffleReader<K, C> reader(BaseShuffleHandle<K, ?, C> handle, TaskContext context,
      ShuffleReadMetricsReporter metrics, Supplier<Iterator<Product2<Object, Object>>> batches) {
    ClassLoader comets = handle.dependency().getClass().getClassLoader();
    try {
      return (ShuffleReader<K, C>) CONSTRUCTORS.computeIfAbsent(comets, CometReaders::constructor)
          .newInstance(handle, context, metrics, batches);
    } catch (ReflectiveOperationException | LinkageError e) {
      throw new SluiceException("a reader for Comet's exchange cannot be made: Sluice knows Comet " + CometSession.KNOWN
          + "; set spark.sluice.comet=false with another version", e);
    }
  }

  /** Pairs of 0 and batch, from frames whose columns {@link #decodes}; takes the frames over. */
  public static Iterator<Product2<Object, Object>> decoded(CometDependency exchange, FrameGroup frames,
      ReadMemory memory, TaskContext context, ShuffleReadMetricsReporter metrics, FetchFailures failures) {
    return new BatchIterator(FramesToBatches.open(exchange, frames, memory), context, metrics, failures);
  }

  /** Whether the native core has columns for all types of the exchange. */
  public static boolean decodes(CometDependency exchange) {
    return BatchTypes.of(exchange.schema()).isPresent();
  }

  /**
   * Whether a map task's only row must be a batch of its own. Comet's aggregates without keys take for granted that
   * each batch of an exchange of one partition has one row (0.12 ends the task where sums of decimals find more), as
   * its own reader gives them: it joins no batches of several map outputs.
   */
  public static boolean singleRowsAlone(CometDependency exchange) {
    return exchange.dependency().partitioner().numPartitions() == 1;
  }

  /**
   * Pairs of 0 and batch, from pairs of partition and row.
   *
   * @param alone whether the row that {@code rows} gave last is a batch of its own
   */
  public static Iterator<Product2<Object, Object>> ofRows(CometDependency exchange,
      Iterator<? extends Product2<?, ?>> rows, BooleanSupplier alone, TaskContext context) {
    return new RowsToBatches(
        rows, alone, exchange.schema(), exchange.dependency().getClass().getClassLoader(), context);
  }

  private static Constructor<?> constructor(ClassLoader comets) {
    try {
      return Class.forName(READER, true, CometReaders.class.getClassLoader()).getConstructors()[0];
    } catch (ClassNotFoundException | LinkageError withoutComet) {
      // Comet is in a loader below Sluice's, as with --jars.
      return new BesideComet(comets).reader().getConstructors()[0];
    }
  }

  /** Defines the reader's class where Comet's are seen. */
  private static final class BesideComet extends ClassLoader {
    BesideComet(ClassLoader comets) {
      super(comets);
    }

    Class<?> reader() {
      String file = READER.replace('.', '/') + ".class";
      try (InputStream bytes = CometReaders.class.getClassLoader().getResourceAsStream(file)) {
        byte[] all = bytes.readAllBytes();
        return defineClass(READER, all, 0, all.length);
      } catch (IOException e) {
        throw new SluiceException("Sluice's own class " + READER + " cannot be read", e);
      }
    }
  }
}
