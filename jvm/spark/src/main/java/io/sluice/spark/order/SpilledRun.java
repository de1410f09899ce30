package io.sluice.spark.order;

import io.sluice.spark.SluiceException;
import java.io.File;
import java.io.IOException;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.executor.ShuffleWriteMetrics;
import org.apache.spark.util.collection.unsafe.sort.UnsafeSorterSpillReader;
import org.apache.spark.util.collection.unsafe.sort.UnsafeSorterSpillWriter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Product2;
import scala.collection.Iterator;

/**
 * Sorted rows in a file of Spark's row sorter: in Spark's local directories, compressed and encrypted as its spills
 * are. Spark's reader of the file takes memory that nobody counts: the buffer of the file, two more of the same size
 * where a thread reads ahead, and an array as long as the longest row. One thread.
 */
final class SpilledRun {
  private static final Logger LOG = LoggerFactory.getLogger(SpilledRun.class);
  /** Rows between two looks at whether the task was killed. */
  private static final int KILL_CHECK_ROWS = 4096;

  /** Spark's reader has an array of so many bytes from the start. */
  private static final int LEAST_ROW_BYTES = 1 << 20;

  private final UnsafeSorterSpillWriter spill;
  /** Null before {@link #records}. */
  private UnsafeSorterSpillReader reader;

  private SpilledRun(UnsafeSorterSpillWriter spill) {
    this.spill = spill;
  }

  /** Bytes of the buffers that a run's reader frees when it has read the last row. */
  static long bufferBytes() {
    SparkConf conf = SparkEnv.get().conf();
    boolean readAhead = conf.getBoolean("spark.unsafe.sorter.spill.read.ahead.enabled", true);
    return (readAhead ? 3 : 1) * conf.getSizeAsBytes("spark.unsafe.sorter.spill.reader.buffer.size", "1m");
  }

  /** Bytes of the array for a row that a run's reader keeps until the task ends: Spark keeps the reader that long. */
  static long rowBytes(int longestRowBytes) {
    return Math.max(LEAST_ROW_BYTES, longestRowBytes);
  }

  /** Writes rows in the order of their references; counted as spilled by the task. */
  static SpilledRun of(ResidentRows rows, TaskContext context) {
    try {
      return write(rows, context);
    } catch (IOException e) {
      throw new SluiceException("spilling sorted shuffle records failed: " + e.getMessage(), e);
    }
  }

  private static SpilledRun write(ResidentRows rows, TaskContext context) throws IOException {
    SparkEnv env = SparkEnv.get();
    int bufferBytes = (int) env.conf().getSizeAsKb("spark.shuffle.file.buffer", "32k") * 1024;
    ShuffleWriteMetrics written = new ShuffleWriteMetrics();
    UnsafeSorterSpillWriter spill =
        new UnsafeSorterSpillWriter(env.blockManager(), bufferBytes, written, rows.size());
    SpilledRun run = new SpilledRun(spill);
    boolean complete = false;
    try {
      for (int i = 0; i < rows.size(); i++) {
        if (i % KILL_CHECK_ROWS == 0) {
          context.killTaskIfInterrupted();
        }
        long address = rows.address(i);
        spill.write(null, address, ResidentRows.bytes(address), 0);
      }
      spill.close();
      complete = true;
    } finally {
      if (!complete) {
        run.abandon();
      }
    }
    context.taskMetrics().incMemoryBytesSpilled(rows.heldBytes());
    context.taskMetrics().incDiskBytesSpilled(written.bytesWritten());
    return run;
  }

  /** Closes and deletes a file that was not written to its end. */
  private void abandon() {
    try {
      spill.close();
    } catch (IOException e) {
      LOG.warn("Could not close spill file {}", spill.getFile(), e);
    }
    delete();
  }

  /**
   * The records, as new objects; the file is deleted after the last. Call once.
   *
   * @param afterLast called then
   */
  <K, C> Iterator<Product2<K, C>> records(Runnable afterLast) {
    try {
      reader = spill.getReader(SparkEnv.get().serializerManager());
    } catch (IOException e) {
      throw new SluiceException("reading back sorted shuffle records that were spilled failed: " + e.getMessage(), e);
    }
    return new SpilledRecords<>(reader, () -> {
      delete();
      afterLast.run();
    });
  }

  /** Closes and deletes the file if it is still there: a consumer may have stopped before the last record. */
  void delete() {
    try {
      if (reader != null) {
        reader.close();
      }
    } catch (IOException e) {
      LOG.warn("Could not close spill file {}", spill.getFile(), e);
    }
    File file = spill.getFile();
    if (file.exists() && !file.delete()) {
      LOG.warn("Could not delete spill file {}", file);
    }
  }
}
