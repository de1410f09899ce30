package io.sluice.spark.order;

import io.sluice.spark.SluiceException;
import io.sluice.spark.record.RecordDecoder;
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
import scala.collection.AbstractIterator;
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
        run.delete();
      }
    }
    context.taskMetrics().incMemoryBytesSpilled(rows.heldBytes());
    context.taskMetrics().incDiskBytesSpilled(written.bytesWritten());
    return run;
  }

  /** The records, as new objects; the file is deleted after the last. */
  <K, C> Iterator<Product2<K, C>> records() throws IOException {
    return new Records<>(this, spill.getReader(SparkEnv.get().serializerManager()));
  }

  /** Deletes the file if it is still there. */
  void delete() {
    File file = spill.getFile();
    if (file.exists() && !file.delete()) {
      LOG.warn("Could not delete spill file {}", file);
    }
  }

  private static final class Records<K, C> extends AbstractIterator<Product2<K, C>> {
    private final SpilledRun run;
    private final UnsafeSorterSpillReader rows;
    private final RecordDecoder decoder = new RecordDecoder();

    Records(SpilledRun run, UnsafeSorterSpillReader rows) {
      this.run = run;
      this.rows = rows;
    }

    @Override
    public boolean hasNext() {
      return rows.hasNext();
    }

    @Override
    public Product2<K, C> next() {
      try {
        rows.loadNext();
      } catch (IOException e) {
        throw new SluiceException("reading back sorted shuffle records that were spilled failed: " + e.getMessage(), e);
      }
      if (!rows.hasNext()) {
        // The reader has closed the file.
        run.delete();
      }
      return decoder.decode(rows.getBaseObject(), rows.getBaseOffset(), rows.getRecordLength());
    }
  }
}
