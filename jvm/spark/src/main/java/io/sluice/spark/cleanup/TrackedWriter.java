package io.sluice.spark.cleanup;

import java.io.IOException;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.ShuffleWriter;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;

/**
 * A writer that deletes its map output, once it has ended, if the shuffle was removed meanwhile: the removal found no
 * files of this task, or not all of them. One task's thread only.
 */
public final class TrackedWriter<K, V> extends ShuffleWriter<K, V> {
  private final ShuffleWriter<K, V> writer;
  private final WrittenOutputs.Output output;
  private final Runnable deletion;

  /** @param deletion deletes the output and what readers could find it by; files that are not there are no error */
  public TrackedWriter(ShuffleWriter<K, V> writer, WrittenOutputs.Output output, Runnable deletion) {
    this.writer = writer;
    this.output = output;
    this.deletion = deletion;
  }

  @Override
  public void write(Iterator<Product2<K, V>> records) throws IOException {
    writer.write(records);
  }

  /** Also after a failure, because a task may be killed after it has committed. */
  @Override
  public Option<MapStatus> stop(boolean success) {
    try {
      return writer.stop(success);
    } finally {
      if (output.isRemoved()) {
        deletion.run();
      }
    }
  }

  @Override
  public long[] getPartitionLengths() {
    return writer.getPartitionLengths();
  }
}
