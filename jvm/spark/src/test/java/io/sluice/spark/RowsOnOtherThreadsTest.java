package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.metrics.Counter;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.spark.HashPartitioner;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.storage.StorageLevel;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

/**
 * Jobs in which a task's rows are pulled by another thread than the one that writes its output, with so little memory
 * that the writer must spill. The threads that read may open the task's account first.
 */
@Timeout(300)
class RowsOnOtherThreadsTest {
  private static final int RECORDS = 240_000;
  private static final int LENGTH = 120;
  private static RddOnBothEngines spark;

  @BeforeAll
  static void start() {
    spark = RddOnBothEngines.start(Map.of("spark.sluice.memory.limit", "16m", "spark.sluice.memory.waitTimeout", "10s",
        "spark.sluice.codec.level", "plain", "spark.task.maxFailures", "1", "spark.sluice.writer.threads", "2"));
  }

  @AfterAll
  static void stop() {
    spark.close();
  }

  @BeforeEach
  void nothingIsHeld() {
    spark.assertNothingIsHeld();
  }

  /** Lines that do not compress, of one shuffle of four tasks into two. */
  private static JavaPairRDD<Integer, String> lines(JavaSparkContext context) {
    return context.parallelize(List.of(0, 1, 2, 3), 4).flatMapToPair(part -> {
      Random random = new Random(part);
      return new Iterator<Tuple2<Integer, String>>() {
        private int next;

        @Override
        public boolean hasNext() {
          return next < RECORDS / 4;
        }

        @Override
        public Tuple2<Integer, String> next() {
          StringBuilder line = new StringBuilder(LENGTH);
          random.ints(LENGTH, 'a', 'z' + 1).forEach(letter -> line.append((char) letter));
          return new Tuple2<>(part + 4 * next++, line.toString());
        }
      };
    }).partitionBy(new HashPartitioner(2));
  }

  /**
   * A shuffle of the lines, and its result per partition: a count, and a sum that does not depend on the order.
   */
  private static List<String> shuffled(JavaRDD<String> lines) {
    return lines.mapToPair(line -> new Tuple2<>(line.hashCode(), line)).partitionBy(new HashPartitioner(3))
        .mapPartitions(records -> {
          long count = 0;
          long sum = 0;
          while (records.hasNext()) {
            Tuple2<Integer, String> record = records.next();
            count++;
            sum += record._1() * 31L + record._2().hashCode();
          }
          return List.of(TaskContext.getPartitionId() + ": " + count + " lines, " + sum).iterator();
        }).collect();
  }

  private static void assertSpills(RddOnBothEngines.Job<List<String>> job) {
    long spills = spark.counter(Counter.WRITE_SPILLS);
    spark.assertSame(job);
    assertTrue(spark.counter(Counter.WRITE_SPILLS) > spills, "there was no need to spill");
  }

  @InAll
  @Test
  void pipeThenPersistThenShuffle() {
    assertSpills(context -> {
      JavaRDD<String> piped = lines(context).values().pipe("cat").persist(StorageLevel.DISK_ONLY());
      try {
        return shuffled(piped);
      } finally {
        piped.unpersist(true);
      }
    });
  }

  @Test
  void pipeThenShuffle() {
    assertSpills(context -> shuffled(lines(context).values().pipe("cat")));
  }

  @Test
  void aUsersThreadReadsTheParentRdd() {
    assertSpills(context -> shuffled(lines(context).values().mapPartitions(RowsOnOtherThreadsTest::onAnotherThread)));
  }

  @InAll
  @Test
  void zipPartitionsReadsTwoShuffles() {
    assertSpills(context -> shuffled(
        lines(context).values().zipPartitions(lines(context).values(), RowsOnOtherThreadsTest::zip)));
  }

  @InAll
  @Test
  void zipPartitionsWithBothSidesReadByUserThreads() {
    assertSpills(context -> shuffled(lines(context).values().pipe("cat").zipPartitions(
        lines(context).values().mapPartitions(RowsOnOtherThreadsTest::onAnotherThread), RowsOnOtherThreadsTest::zip)));
  }

  private static Iterator<String> zip(Iterator<String> left, Iterator<String> right) {
    return new Iterator<String>() {
      @Override
      public boolean hasNext() {
        return left.hasNext() && right.hasNext();
      }

      @Override
      public String next() {
        return left.next() + right.next();
      }
    };
  }

  /** Has a new thread pull {@code rows} into a short queue. */
  private static Iterator<String> onAnotherThread(Iterator<String> rows) throws InterruptedException {
    BlockingQueue<List<String>> queue = new LinkedBlockingQueue<>(64);
    Thread puller = new Thread(() -> pull(rows, queue), "a user's thread");
    puller.setDaemon(true);
    puller.start();
    return new Iterator<String>() {
      private List<String> next = take(queue);

      @Override
      public boolean hasNext() {
        return !next.isEmpty();
      }

      @Override
      public String next() {
        String row = next.get(0);
        next = take(queue);
        return row;
      }
    };
  }

  /** Each row is a list of one; the empty list is the end. */
  private static void pull(Iterator<String> rows, BlockingQueue<List<String>> queue) {
    try {
      while (rows.hasNext()) {
        if (!queue.offer(List.of(rows.next()), 1, TimeUnit.MINUTES)) {
          return;
        }
      }
      queue.put(List.of());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static List<String> take(BlockingQueue<List<String>> queue) {
    try {
      List<String> row = queue.poll(1, TimeUnit.MINUTES);
      if (row == null) {
        throw new IllegalStateException("the other thread has stopped");
      }
      return row;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }
}
