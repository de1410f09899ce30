package io.sluice.spark.fetch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.spark.decode.TestBlocks;
import java.io.ByteArrayInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.executor.TempShuffleReadMetrics;
import org.apache.spark.shuffle.FetchFailedException;
import org.junit.jupiter.api.Test;

import org.apache.spark.TaskContext$;

class FetchedStreamsTest {
  private final TaskContextImpl context = TaskContext$.MODULE$.empty();
  private final TempShuffleReadMetrics metrics = context.taskMetrics().createTempShuffleReadMetrics();
  private final FetchedStreams streams = new FetchedStreams(metrics, false);

  @Test
  void fetchMetricsReportTheExactSizeOfABlock() {
    assertEquals(BlockInput.UNKNOWN, streams.lastSizeBytes());
    streams.reporter().incRemoteBlocksFetched(1);
    streams.reporter().incRemoteBytesRead(1234);
    assertEquals(1234, streams.lastSizeBytes());
    streams.reporter().incLocalBlocksFetched(1);
    streams.reporter().incLocalBytesRead(77);
    streams.reporter().incFetchWaitTime(5);
    assertEquals(77, streams.lastSizeBytes());
    assertEquals(1234, metrics.remoteBytesRead());
    assertEquals(77, metrics.localBytesRead());
    assertEquals(1, metrics.remoteBlocksFetched());
    assertEquals(5, metrics.fetchWaitTime());
  }

  @Test
  void streamsAreReturnedUnchanged() throws IOException {
    byte[] bytes = {5, 6, 7, 8, 9};
    InputStream wrapped = streams.wrapper().apply(TestBlocks.block(0).id(), new ByteArrayInputStream(bytes));
    assertSame(wrapped, streams.last());
    assertEquals(5, wrapped.read());
    assertArrayEquals(new byte[] {6, 7, 8, 9}, wrapped.readNBytes(4));
    assertEquals(-1, wrapped.read());
  }

  /** Stands for Spark's stream around ours, which turns an error into a diagnosed fetch failure. */
  private static InputStream diagnosing(InputStream probe, boolean detectCorrupt, String diagnosis) {
    return new FilterInputStream(probe) {
      @Override
      public int read() throws IOException {
        try {
          return super.read();
        } catch (IOException e) {
          if (!detectCorrupt) {
            throw e;
          }
          throw FetchedStreamsTest.<RuntimeException>unchecked(new FetchFailedException(
              TestBlocks.ADDRESS, 3, 100, 0, 5, diagnosis == null ? e.getMessage() : diagnosis, e));
        }
      }
    };
  }

  @SuppressWarnings("unchecked")
  private static <E extends Throwable> E unchecked(Throwable thrown) throws E {
    throw (E) thrown;
  }

  @Test
  void aFailedReadAsksSparkForItsCorruptionDiagnosis() {
    CorruptFrameException corruption = new CorruptFrameException("payload checksum");
    InputStream probe = streams.wrapper().apply(TestBlocks.block(0).id(), new ByteArrayInputStream(new byte[9]));
    assertEquals("due to DISK_ISSUE",
        streams.last().diagnoseThrough(diagnosing(probe, true, "due to DISK_ISSUE"), corruption));
    assertNull(streams.last().diagnoseThrough(diagnosing(probe, true, null), corruption));
    assertNull(streams.last().diagnoseThrough(diagnosing(probe, false, null), corruption));
    assertNull(streams.last().diagnoseThrough(new ByteArrayInputStream(new byte[9]), corruption));
  }
}
