package io.sluice.spark.order;

import java.io.File;
import java.io.IOException;
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
 * are. One thread.
 */
final class SpilledRun {
  private static final Logger LOG = LoggerFactory.getLogger(SpilledRun.class);
  /** Rows between two looks at whether the task was killed. */
  private static final int KILL_CHECK_ROWS = 4096;

  private final UnsafeSorterSpillWriter spill;
  /** Null before {@link #records}. */
  private UnsafeSorterSpillReader reader;

  private SpilledRun(UnsafeSorterSpillWriter spill) {
    this.spill = spill;
  }

  /** Writes rows in the order of their references; counted as spilled by the task. */
  static SpilledRun of(ResidentRows rows, TaskContext context) throws IOException {
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

  /** The records, as new objects; the file is deleted after the last. Call once. */
  <K, C> Iterator<Product2<K, C>> records() throws IOException {
    reader = spill.getReader(SparkEnv.get().serializerManager());
    return new SpilledRecords<>(reader, this::delete);
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
