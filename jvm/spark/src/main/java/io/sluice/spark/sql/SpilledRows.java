package io.sluice.spark.sql;

import java.io.File;
import java.io.IOException;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.executor.ShuffleWriteMetrics;
import org.apache.spark.util.collection.unsafe.sort.UnsafeSorterSpillReader;
import org.apache.spark.util.collection.unsafe.sort.UnsafeSorterSpillWriter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sorted rows in a file of Spark's row sorter: in Spark's local directories, compressed and encrypted as its spills
 * are. One thread.
 */
final class SpilledRows implements SortedRows {
  private static final Logger LOG = LoggerFactory.getLogger(SpilledRows.class);
  /** Rows between two looks at whether the task was killed. */
  private static final int KILL_CHECK_ROWS = 4096;

  private final UnsafeSorterSpillWriter spill;
  /** Null before the first row is asked for. */
  private UnsafeSorterSpillReader reader;

  private SpilledRows(UnsafeSorterSpillWriter spill) {
    this.spill = spill;
  }

  /**
   * Writes {@code count} rows of {@code rows}; the bytes count as spilled to disk by the task.
   *
   * @throws IOException when the disk fails; there is no file then
   */
  static SpilledRows write(SortedRows rows, int count, TaskContext context) throws IOException {
    SparkEnv env = SparkEnv.get();
    int bufferBytes = (int) env.conf().getSizeAsKb("spark.shuffle.file.buffer", "32k") * 1024;
    ShuffleWriteMetrics written = new ShuffleWriteMetrics();
    UnsafeSorterSpillWriter spill = new UnsafeSorterSpillWriter(env.blockManager(), bufferBytes, written, count);
    SpilledRows spilled = new SpilledRows(spill);
    boolean complete = false;
    try {
      for (int i = 0; i < count; i++) {
        if (i % KILL_CHECK_ROWS == 0) {
          context.killTaskIfInterrupted();
        }
        rows.loadNext();
        spill.write(rows.base(), rows.offset(), rows.bytes(), 0);
      }
      spill.close();
      complete = true;
    } finally {
      if (!complete) {
        spilled.delete();
      }
    }
    context.taskMetrics().incDiskBytesSpilled(written.bytesWritten());
    return spilled;
  }

  /** Opens the file; must be called before the first row is asked for. */
  void open() throws IOException {
    reader = spill.getReader(SparkEnv.get().serializerManager());
  }

  @Override
  public boolean hasNext() {
    return reader.hasNext();
  }

  @Override
  public void loadNext() throws IOException {
    reader.loadNext();
  }

  @Override
  public Object base() {
    return reader.getBaseObject();
  }

  @Override
  public long offset() {
    return reader.getBaseOffset();
  }

  @Override
  public int bytes() {
    return reader.getRecordLength();
  }

  /** Closes and deletes the file if it is still there; twice is fine. */
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
