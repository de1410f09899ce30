package io.sluice.spark.write;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.unsafe.Platform;

/**
 * Estimates, for each partition of one map output of SQL rows, how many bytes Spark's own sort shuffle would have
 * written.
 *
 * <p>Spark's writers put {@code (int length, row)} after each other, in the order of the rows, into one compressed
 * stream a partition. Its length before compression is counted exactly ({@link #add}). Its compressed length is
 * measured on samples: the first bytes of some partitions' streams go through the session's codec.
 *
 * <pre>
 *   rows of a batch ──► StreamSample of some partitions ── full, or no more rows ──► StockCodec ──► MeasuredStream
 *   stream bytes of each partition ─────────────────────────────────────────────────► StreamSizeModel ──► estimates
 * </pre>
 *
 * Sampled are partitions that are much larger than the others, and others, different ones in each map task, until one
 * byte in {@link StockCodec#sampledShare} has been taken, at least {@link #MIN_SAMPLED_BYTES} a task. At most
 * {@link #MAX_OPEN} samples are on the heap at once.
 *
 * <p>Rows are counted and sampled on the task's thread; not thread-safe.
 */
final class StockSizeEstimator {
  static final int LENGTH_BYTES = Integer.BYTES;
  static final long MIN_SAMPLED_BYTES = 128 * 1024;
  private static final int MAX_OPEN = 100;
  /**
   * So many partitions that are not large are sampled even if that exceeds the share: in a small output, a larger one.
   */
  private static final int MIN_ORDINARY = 3;
  private static final int MIN_ORDINARY_OF_MORE = 6;
  private static final long MORE_BYTES = 2L << 20;
  /** So many samples are long, where the codec does better the further it is in a stream. */
  private static final int LONG = 2;
  /** A partition with so many times the average is sampled before others. */
  private static final int LARGE = 4;
  /** So many of those are sampled even if that exceeds the share. */
  private static final int MIN_LARGE = 8;
  /** So many samples are compressed at several lengths, to learn how the ratio grows with the length. */
  private static final int DETAILED = 3;
  /** So many are compressed at half their length too. */
  private static final int HALVED = 12;
  private static final int DETAIL_STEP = 8;
  private static final int MIN_DETAIL_BYTES = 256;
  private static final byte SAMPLED = -1;

  private final StockCodec codec;
  private final int partitions;
  private final SampleOrder order;
  private final long[] streamBytes;
  /** By partition: the index of its open sample plus one; 0 when it has none; {@link #SAMPLED} when that is done. */
  private final byte[] sampleOf;
  private final StreamSample[] open = new StreamSample[MAX_OPEN];
  private final List<MeasuredStream> measured = new ArrayList<>();
  private int openSamples;
  private int ordinarySamples;
  private int largeSamples;
  private long totalBytes;
  private long sampledBytes;

  /**
   * @param codec null when map output is not compressed
   * @param mapIndex decides which partitions are sampled: every attempt of a map task samples the same
   */
  StockSizeEstimator(StockCodec codec, int partitions, int mapIndex) {
    this.codec = codec;
    this.partitions = partitions;
    this.order = new SampleOrder(partitions, mapIndex);
    this.streamBytes = new long[partitions];
    this.sampleOf = new byte[codec == null ? 0 : partitions];
  }

  /** Counts a row. */
  void add(int partition, int rowBytes) {
    streamBytes[partition] += LENGTH_BYTES + rowBytes;
  }

  /**
   * Takes samples of a batch, after its rows have been counted and before its pages are freed.
   *
   * @param pages as {@link PageBatch#describe} gives them
   */
  void sample(long[] pages) {
    if (codec == null) {
      return;
    }
    for (int page = 0; page < pages.length; page += PageBatch.LONGS_PER_PAGE) {
      totalBytes += pages[page + 2];
    }
    chooseSamples();
    for (int page = 0; page < pages.length && openSamples > 0; page += PageBatch.LONGS_PER_PAGE) {
      samplePage(pages[page], pages[page] + pages[page + 1], pages[page + 2], (int) pages[page + 3]);
    }
  }

  /**
   * As {@link #sample}, of one row that is in no page.
   *
   * @param base object that holds the row, or null when {@code offset} is an address
   */
  void sampleRow(int partition, Object base, long offset, int rowBytes) {
    if (codec == null) {
      return;
    }
    totalBytes += rowBytes;
    chooseSamples();
    int slot = sampleOf[partition] - 1;
    if (slot >= 0) {
      open[slot].add(base, offset, rowBytes);
      if (open[slot].full()) {
        measure(slot);
      }
    }
  }

  /** Gives the rows of a page to the open samples; the page's layout is {@link PageWriter}'s. */
  private void samplePage(long start, long end, long rowsEnd, int rows) {
    long entry = end - PageWriter.ENTRY_BYTES;
    long current = rows == 0 ? 0 : Platform.getLong(null, entry);
    for (int left = rows - 1; left >= 0 && openSamples > 0; left--) {
      entry -= PageWriter.ENTRY_BYTES;
      long next = left == 0 ? rowsEnd : Platform.getLong(null, entry);
      int slot = sampleOf[PageWriter.partitionOf(current)] - 1;
      if (slot >= 0) {
        long offset = PageWriter.offsetOf(current);
        open[slot].add(null, start + offset, (int) (PageWriter.offsetOf(next) - offset));
        if (open[slot].full()) {
          measure(slot);
        }
      }
      current = next;
    }
  }

  /** Starts samples until the share of sampled bytes is used up. */
  private void chooseSamples() {
    long budget = Math.max(MIN_SAMPLED_BYTES, totalBytes / codec.sampledShare()) - sampledBytes;
    long large = LARGE * Math.max(1, totalBytes / partitions);
    for (int p = 0; p < partitions && openSamples < MAX_OPEN && (budget > 0 || largeSamples < MIN_LARGE); p++) {
      if (sampleOf[p] == 0 && streamBytes[p] > large && streamBytes[p] > codec.sampleBytes()) {
        largeSamples++;
        budget -= open(p, true);
      }
    }
    int minOrdinary = totalBytes < MORE_BYTES ? MIN_ORDINARY : MIN_ORDINARY_OF_MORE;
    while ((budget > 0 || ordinarySamples < minOrdinary) && openSamples < MAX_OPEN && order.hasNext()) {
      int p = order.next();
      if (sampleOf[p] == 0 && streamBytes[p] > 0) {
        ordinarySamples++;
        budget -= open(p, false);
      }
    }
  }

  /** Opens a sample; how many bytes it will take at most, as far as is known. */
  private long open(int partition, boolean large) {
    int slot = 0;
    while (open[slot] != null) {
      slot++;
    }
    int limit = measured.size() + openSamples < LONG ? codec.longSampleBytes() : codec.sampleBytes();
    open[slot] = new StreamSample(partition, large, limit);
    sampleOf[partition] = (byte) (slot + 1);
    openSamples++;
    return Math.min(limit, streamBytes[partition]);
  }

  private void measure(int slot) {
    StreamSample sample = open[slot];
    open[slot] = null;
    openSamples--;
    sampleOf[sample.partition()] = SAMPLED;
    if (sample.length() > 0) {
      measured.add(new MeasuredStream(sample.partition(), points(sample), sample.large(),
          sample.length() >= 2 * codec.sampleBytes()));
    }
  }

  private List<long[]> points(StreamSample sample) {
    int length = sample.length();
    List<long[]> points = new ArrayList<>();
    if (measured.size() < DETAILED) {
      for (int prefix = length / (2 * DETAIL_STEP); prefix >= MIN_DETAIL_BYTES; prefix /= DETAIL_STEP) {
        points.add(0, point(sample, prefix));
      }
    }
    if (length > codec.sampleBytes()) {
      points.add(point(sample, codec.sampleBytes()));
    } else if (length > 1 && measured.size() < HALVED) {
      points.add(point(sample, length / 2));
    }
    points.add(point(sample, length));
    return points;
  }

  private long[] point(StreamSample sample, int length) {
    sampledBytes += length;
    return new long[] {length, codec.compressedBytes(sample.bytes(), length)};
  }

  /** Bytes that went through the codec so far. */
  long sampledBytes() {
    return sampledBytes;
  }

  /**
   * The estimates; once, after the last batch.
   *
   * @param encodedBytes length of Sluice's block of each partition
   * @return length of Spark's block of each partition; 0 only where there are no rows
   */
  long[] estimate(long[] encodedBytes) {
    if (codec == null) {
      return streamBytes.clone();
    }
    for (int slot = 0; slot < MAX_OPEN; slot++) {
      if (open[slot] != null) {
        measure(slot);
      }
    }
    StreamSizeModel model = new StreamSizeModel(measured, streamBytes, encodedBytes);
    long[] sizes = new long[partitions];
    for (int p = 0; p < partitions; p++) {
      if (streamBytes[p] > 0) {
        sizes[p] = Math.max(1, Math.round(model.compressedBytes(p)));
      }
    }
    return sizes;
  }
}
