package io.sluice.spark.decode;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.spark.codec.FrameColumns;
import io.sluice.spark.metrics.ColumnBytes;
import io.sluice.spark.seal.OutputKeys;
import java.util.ArrayList;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decodes frames, and looks at the encodings of one that was decoded, for the UI. What goes wrong with that is logged
 * at debug level and concerns nobody else. Thread-safe.
 */
public final class SamplingDecoder implements FrameDecoder {
  private static final Logger LOG = LoggerFactory.getLogger(SamplingDecoder.class);

  private final FrameDecoder decoder;
  private final BooleanSupplier first;
  private final Consumer<ArrayList<ColumnBytes>> found;
  private volatile boolean sampled;

  /**
   * @param first asked when a frame was decoded; true if this is the frame to look at, and false if another one was
   * @param found what it has found
   */
  public SamplingDecoder(FrameDecoder decoder, BooleanSupplier first, Consumer<ArrayList<ColumnBytes>> found) {
    this.decoder = decoder;
    this.first = first;
    this.found = found;
  }

  @Override
  public long decode(long source, long sourceBytes, long target, long targetBytes, long rowLengths,
      int rowLengthsCapacity, OutputKeys keys) throws CorruptFrameException {
    long rows = decoder.decode(source, sourceBytes, target, targetBytes, rowLengths, rowLengthsCapacity, keys);
    if (!sampled) {
      sampled = true;
      sample(source, sourceBytes);
    }
    return rows;
  }

  private void sample(long source, long sourceBytes) {
    try {
      if (first.getAsBoolean()) {
        ArrayList<ColumnBytes> columns = FrameColumns.of(source, sourceBytes);
        if (!columns.isEmpty()) {
          found.accept(columns);
        }
      }
    } catch (CorruptFrameException | RuntimeException e) {
      LOG.debug("The encodings of a frame were not found out", e);
    }
  }
}
