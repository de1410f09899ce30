package io.sluice.spark.transport;

import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.io.File;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes this executor's committed map outputs readable for its peers. Outputs that cannot be published are read through
 * Spark's block transfer, so nothing here ever fails a task. Any thread.
 */
public final class Publisher {
  private static final Logger LOG = LoggerFactory.getLogger(Publisher.class);

  private final BlockTransport transport;
  private final Counters counters;
  private volatile boolean closed;

  Publisher(BlockTransport transport, Counters counters) {
    this.transport = transport;
    this.counters = counters;
  }

  /**
   * Publishes a map output.
   *
   * @param data Spark's data file, committed
   * @param index Spark's index file of it
   * @param lengths of the partitions in it; null when the writer does not know them
   */
  public void publish(int shuffleId, long mapId, File data, File index, long[] lengths) {
    if (closed) {
      return;
    }
    long[] offsets = offsets(lengths == null ? new long[0] : lengths);
    long bytes = offsets[offsets.length - 1];
    if (bytes == 0) {
      // Spark fetches no empty blocks, and there may be no file.
      return;
    }
    String failure = failure(shuffleId, mapId, data, index, offsets, bytes);
    if (failure == null) {
      counters.increment(Counter.TRANSPORT_PUBLISHED);
    } else {
      counters.increment(Counter.TRANSPORT_PUBLISH_FAILURES);
      LOG.debug("Map output {} of shuffle {} cannot be read one-sidedly: {}", mapId, shuffleId, failure);
    }
  }

  /** Publishes and says why that failed, or null. */
  private String failure(int shuffleId, long mapId, File data, File index, long[] offsets, long bytes) {
    // Another length means that Spark keeps the output elsewhere; reading beyond a mapped file would be fatal.
    long fileBytes = data.length();
    if (fileBytes != bytes) {
      return data + " has " + fileBytes + " bytes, not " + bytes;
    }
    try {
      int status = transport.publish(shuffleId, mapId, data.getPath(), index.getPath(), offsets);
      return status < 0 ? transport.lastError() : null;
    } catch (RuntimeException e) {
      return e.toString();
    }
  }

  private static long[] offsets(long[] lengths) {
    long[] offsets = new long[lengths.length + 1];
    for (int i = 0; i < lengths.length; i++) {
      offsets[i + 1] = offsets[i] + lengths[i];
    }
    return offsets;
  }

  /** The bytes of an output have moved, behind the same path; it may not be published. */
  public void renew(int shuffleId, long mapId) {
    if (!closed) {
      transport.renew(shuffleId, mapId);
    }
  }

  /** Ends the publication of a shuffle's outputs, before their files are deleted. */
  public void withdrawShuffle(int shuffleId) {
    if (!closed) {
      transport.withdrawShuffle(shuffleId);
    }
  }

  void close() {
    closed = true;
  }
}
