package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.HashPartitioner;
import org.apache.spark.Partitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.rdd.ShuffledRDD;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.ThreadUtils;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Product2;
import scala.Tuple2;
import scala.concurrent.duration.Duration;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The exchanges of a columnar plugin for GPUs, which hand tables of host memory with a serializer of their own to the
 * application's shuffle manager, as RAPIDS does with one that is not its own.
 */
@Timeout(180)
class HostTablesTest {
  private static final int MAPS = 4;
  /** What {@link #look} has found. */
  private static final Set<String> FOUND = ConcurrentHashMap.newKeySet();

  private RddOnBothEngines spark;

  @AfterEach
  void stop() {
    spark.close();
  }

  private ShuffledRDD<Integer, ColumnarBatch, ColumnarBatch> exchange(int tables, int partitions, int rows) {
    JavaPairRDD<Integer, ColumnarBatch> slices = spark.numbers(MAPS)
        .mapPartitionsToPair(numbers -> HostTables.slices(numbers.next(), tables, partitions, rows));
    Partitioner passThrough = new HashPartitioner(partitions);
    return RddOnBothEngines.shuffled(slices, passThrough).setSerializer(new HostTableSerializer());
  }

  /** What each batch has, in the order of partitions; those of a partition in any order. */
  private List<String> batches(int tables, int partitions, int rows) {
    return exchange(tables, partitions, rows).toJavaRDD().mapPartitions(HostTablesTest::texts).collect();
  }

  private static Iterator<String> texts(Iterator<? extends Product2<Integer, ColumnarBatch>> records) {
    List<String> texts = new ArrayList<>();
    while (records.hasNext()) {
      ColumnarBatch batch = records.next()._2();
      texts.add(batch.numCols() + " columns, " + batch.numRows() + " rows, hash " + HostTables.hash(batch));
    }
    Collections.sort(texts);
    return texts.iterator();
  }

  @Test
  void tablesPassAsOnStock() {
    spark = RddOnBothEngines.start(Map.of());
    spark.assertSame(context -> batches(9, 7, 40));
    assertEquals(MAPS * 9 * 7, spark.counter(Counter.WRITE_RECORDS_SERIALIZED));
  }

  @InAll
  @Test
  void aTableForEachOfManyPartitions() {
    spark = RddOnBothEngines.start(Map.of());
    spark.assertSame(context -> batches(2, 700, 3));
  }

  /** Their bytes are larger than a row of ours may be. */
  @Test
  void tablesOfSeveralMebibytes() {
    spark = RddOnBothEngines.start(Map.of());
    spark.assertSame(context -> batches(2, 2, 150_000));
  }

  @Test
  void tablesThatDoNotFitTheMemorySpill() {
    spark = RddOnBothEngines.start(Map.of("spark.sluice.memory.limit", "16m"));
    spark.assertSame(context -> batches(6, 5, 30_000));
  }

  /** Spills too; the tasks themselves look into them. Without encryption the texts are in files. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void textsOfTablesAreInNoFileThatIsEncrypted(boolean encrypted) throws IOException {
    spark = RddOnBothEngines.start(Map.of("spark.sluice.memory.limit", "16m", "spark.io.encryption.enabled",
        Boolean.toString(encrypted), "spark.shuffle.compress", "false", "spark.shuffle.spill.compress", "false"));
    FOUND.clear();
    int partitions = 5;
    JavaPairRDD<Integer, ColumnarBatch> slices = spark.numbers(MAPS).mapPartitionsToPair(numbers -> {
      Iterator<Tuple2<Integer, ColumnarBatch>> all = HostTables.slices(numbers.next(), 6, partitions, 30_000);
      return lookingInFiles(all);
    });
    ShuffledRDD<Integer, ColumnarBatch, ColumnarBatch> exchange =
        RddOnBothEngines.shuffled(slices, new HashPartitioner(partitions)).setSerializer(new HostTableSerializer());
    long tables = spark.onSluice(any -> exchange.toJavaRDD().mapPartitions(HostTablesTest::texts).count());
    assertEquals(MAPS * 6 * partitions, tables);
    assertTrue(spark.counter(Counter.WRITE_SPILLS) > 0);
    look();
    if (encrypted) {
      assertEquals(Set.of("shuffle without", "temp without"), FOUND);
    } else {
      assertTrue(FOUND.containsAll(Set.of("shuffle with", "temp with")), FOUND::toString);
    }
  }

  /** Looks before every fifth table. */
  private static Iterator<Tuple2<Integer, ColumnarBatch>> lookingInFiles(
      Iterator<Tuple2<Integer, ColumnarBatch>> slices) {
    return new Iterator<>() {
      private int count;

      @Override
      public boolean hasNext() {
        return slices.hasNext();
      }

      @Override
      public Tuple2<Integer, ColumnarBatch> next() {
        if (++count % 5 == 0) {
          try {
            look();
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        }
        return slices.next();
      }
    };
  }

  /** Data files and spills with bytes: whether the text of a table is in them. */
  private static void look() throws IOException {
    for (String kind : List.of("shuffle", "temp")) {
      for (Path file : ShuffleFiles.named(kind + "_")) {
        try {
          String bytes = new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1);
          if (!bytes.isEmpty() && !file.toString().endsWith(".index") && !file.toString().contains(".checksum")) {
            FOUND.add(kind + (bytes.contains(HostTables.TEXT) ? " with" : " without"));
          }
        } catch (NoSuchFileException e) {
          // Deleted since it was listed.
        }
      }
    }
  }

  /** As adaptive plans read: some partitions of some map outputs. */
  @Test
  void partsOfAnExchangeAreReadAlone() throws Exception {
    spark = RddOnBothEngines.start(Map.of());
    int partitions = 5;
    List<String> whole = spark.onSluice(context -> batches(3, partitions, 20));
    ShuffleDependency<?, ?, ?> exchange = (ShuffleDependency<?, ?, ?>) CollectionConverters
        .asJava(exchange(3, partitions, 20).dependencies()).get(0);
    ThreadUtils.awaitReady(spark.context().sc().submitMapStage(exchange), Duration.Inf());
    List<String> parts = new ArrayList<>();
    for (int map = 0; map < MAPS; map += 2) {
      for (int partition = 0; partition < partitions; partition += 2) {
        int until = Math.min(partition + 2, partitions);
        parts.addAll(spark.numbers(1).coalesce(1)
            .mapPartitions(new PartialRead(exchange.shuffleHandle(), map, map + 2, partition, until)).collect());
      }
    }
    Collections.sort(parts);
    assertEquals(RddOnBothEngines.sorted(whole), parts);
  }

  /** Reads partitions {@code from} until {@code until} of the map outputs {@code firstMap} until {@code lastMap}. */
  private record PartialRead(ShuffleHandle handle, int firstMap, int lastMap, int from, int until)
      implements
        FlatMapFunction<Iterator<Integer>, String>,
        Serializable {
    @Override
    public Iterator<String> call(Iterator<Integer> none) {
      TaskContext context = TaskContext.get();
      Iterator<Product2<Integer, ColumnarBatch>> records = CollectionConverters.asJava(
          SparkEnv.get().shuffleManager().<Integer, ColumnarBatch>getReader(handle, firstMap, lastMap, from, until,
              context, context.taskMetrics().createTempShuffleReadMetrics()).read());
      return texts(records);
    }
  }
}
