package io.sluice.spark.fetch;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.storage.BlockId;
import scala.Function2;

/**
 * The metrics reporter and the stream wrapper that are passed to Spark's fetch iterator. They tell the reader two
 * things about a block that the iterator does not: its exact size, and for a corrupt block, the diagnosis by its
 * writer's checksum.
 *
 * <p>The size is the one that the iterator reports to the read metrics inside {@code next()}. For the diagnosis each
 * stream is wrapped in a {@link Probe}, inside Spark's own stream: Spark diagnoses a block when reading its
 * stream fails, so the probe fails on request. Frames are never passed through Spark's decompression.
 *
 * <p>Used on the consuming thread only.
 */
public final class FetchedStreams {
  private final ShuffleReadMetricsReporter reporter;
  private final boolean checkFrames;
  private Probe last;
  private long lastSizeBytes = BlockInput.UNKNOWN;

  /** @param checkFrames whether streams check their frames, for an iterator that reads them before it gives them */
  public FetchedStreams(ShuffleReadMetricsReporter metrics, boolean checkFrames) {
    this.checkFrames = checkFrames;
    // A proxy, because Spark lines differ in the methods of this interface.
    this.reporter = (ShuffleReadMetricsReporter) Proxy.newProxyInstance(
        ShuffleReadMetricsReporter.class.getClassLoader(),
        new Class<?>[] {ShuffleReadMetricsReporter.class},
        (proxy, method, arguments) -> {
          if (method.getName().equals("incLocalBytesRead") || method.getName().equals("incRemoteBytesRead")) {
            lastSizeBytes = (Long) arguments[0];
          }
          try {
            return method.invoke(metrics, arguments);
          } catch (InvocationTargetException e) {
            throw e.getCause();
          }
        });
  }

  /** The metrics for the fetch iterator; everything arrives at the task's. */
  public ShuffleReadMetricsReporter reporter() {
    return reporter;
  }

  /** The stream wrapper for the fetch iterator. */
  public Function2<BlockId, InputStream, InputStream> wrapper() {
    return (id, stream) -> last = new Probe(checkFrames ? new FrameCheckingStream(stream) : stream);
  }

  /** Whether the streams check their frames, so that the blocks must be read through them. */
  boolean checksFrames() {
    return checkFrames;
  }

  /** The probe of the block that the fetch iterator gave last. */
  Probe last() {
    return last;
  }

  /** The exact size of that block. */
  long lastSizeBytes() {
    return lastSizeBytes;
  }

  /** A stream that can be told to fail. */
  static final class Probe extends FilterInputStream {
    private IOException failure;

    Probe(InputStream in) {
      super(in);
    }

    /**
     * Makes {@code outer}, Spark's stream around this one, fail with {@code corruption}, and returns what Spark
     * then says about the cause; null when it says nothing. It ends the life of the stream.
     */
    String diagnoseThrough(InputStream outer, IOException corruption) {
      failure = corruption;
      try {
        outer.read();
      } catch (Exception e) {
        boolean diagnosed = e instanceof FetchFailedException && e.getMessage() != null
            && !e.getMessage().equals(corruption.getMessage());
        return diagnosed ? e.getMessage() : null;
      }
      return null;
    }

    @Override
    public int read() throws IOException {
      failIfTold();
      return super.read();
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      failIfTold();
      return super.read(target, offset, length);
    }

    private void failIfTold() throws IOException {
      if (failure != null) {
        throw failure;
      }
    }
  }
}
