package io.sluice.spark.write;

import java.util.Arrays;
import java.util.List;

/**
 * The compressed length of each partition's stream, from the streams that were measured.
 *
 * <p>The size of a measured stream is extrapolated to its whole length. For any other stream, each measured stream is
 * extrapolated to its length, and the geometric mean is taken. If the measured streams' ratios correlate with those of
 * Sluice's own codec, the mean is corrected by the ratio that Sluice's codec has on the partition.
 */
final class StreamSizeModel {
  /** With fewer streams no correlation is computed. */
  private static final int MIN_STREAMS = 4;
  private static final double MIN_CORRELATION_SQUARED = 0.3;
  private static final double MAX_EXPONENT = 1.2;
  /** Lengths at which the average is computed, an octave. */
  private static final int PER_OCTAVE = 2;
  private static final int LENGTHS = 64 * PER_OCTAVE;

  private final long[] streamBytes;
  private final long[] encodedBytes;
  private final MeasuredStream[] streams;
  private final MeasuredStream[] ofPartition;
  private final double intercept;
  private final double furtherOn;
  /** Logarithm of the average compressed length by the length's logarithm; NaN where not computed yet. */
  private final double[] averages = new double[LENGTHS + 1];
  private final double exponent;
  private final double meanEncodedRatio;

  StreamSizeModel(List<MeasuredStream> measured, long[] streamBytes, long[] encodedBytes) {
    this.streamBytes = streamBytes;
    this.encodedBytes = encodedBytes;
    this.ofPartition = new MeasuredStream[streamBytes.length];
    for (MeasuredStream stream : measured) {
      ofPartition[stream.partition()] = stream;
    }
    MeasuredStream[] ordinary = measured.stream().filter(stream -> !stream.large()).toArray(MeasuredStream[]::new);
    this.streams = ordinary.length == 0 ? measured.toArray(MeasuredStream[]::new) : ordinary;
    this.intercept = measured.stream().filter(MeasuredStream::hasSlope).mapToDouble(MeasuredStream::intercept)
        .average().orElse(0);
    this.furtherOn = measured.stream().filter(MeasuredStream::isLong).mapToDouble(MeasuredStream::furtherOn).average()
        .orElse(1);
    Arrays.fill(averages, Double.NaN);
    double[] x = new double[streams.length];
    double[] y = new double[streams.length];
    for (int i = 0; i < streams.length; i++) {
      int p = streams[i].partition();
      x[i] = encodedRatio(p);
      y[i] = Math.log(streams[i].at(streamBytes[p], intercept, furtherOn)) - average(streamBytes[p]);
    }
    this.meanEncodedRatio = Arrays.stream(x).average().orElse(0);
    this.exponent = exponent(x, y);
  }

  /** Estimated compressed bytes of the stream of {@code partition}, which is not empty. */
  double compressedBytes(int partition) {
    long bytes = streamBytes[partition];
    if (streams.length == 0) {
      return bytes;
    }
    MeasuredStream own = ofPartition[partition];
    if (own != null) {
      return own.at(bytes, intercept, furtherOn);
    }
    return Math.exp(average(bytes) + exponent * (encodedRatio(partition) - meanEncodedRatio));
  }

  /** Logarithm of the ratio of a partition's size in Sluice's codec to the bytes of its rows. */
  private double encodedRatio(int partition) {
    return Math.log(Math.max(1, encodedBytes[partition]) / (double) streamBytes[partition]);
  }

  /** Logarithm of the geometric mean of the measured streams' compressed sizes at this length. */
  private double average(double bytes) {
    double position = Math.max(0, PER_OCTAVE * Math.log(bytes) / Math.log(2));
    int below = Math.min(LENGTHS - 1, (int) position);
    double low = averageAt(below);
    return low + (position - below) * (averageAt(below + 1) - low);
  }

  private double averageAt(int index) {
    if (Double.isNaN(averages[index])) {
      double bytes = Math.pow(2, (double) index / PER_OCTAVE);
      double sum = 0;
      for (MeasuredStream stream : streams) {
        sum += Math.log(Math.max(1, stream.at(bytes, intercept, furtherOn)));
      }
      averages[index] = sum / streams.length;
    }
    return averages[index];
  }

  /** How the measured streams' deviation from their average goes with Sluice's ratio; 0 when it does not. */
  private static double exponent(double[] x, double[] y) {
    int n = x.length;
    if (n < MIN_STREAMS) {
      return 0;
    }
    double meanX = Arrays.stream(x).average().orElse(0);
    double meanY = Arrays.stream(y).average().orElse(0);
    double xx = 0;
    double xy = 0;
    double yy = 0;
    for (int i = 0; i < n; i++) {
      xx += (x[i] - meanX) * (x[i] - meanX);
      xy += (x[i] - meanX) * (y[i] - meanY);
      yy += (y[i] - meanY) * (y[i] - meanY);
    }
    boolean correlated = xx > 1e-4 * n && xy * xy > MIN_CORRELATION_SQUARED * xx * yy;
    return correlated ? Math.max(0, Math.min(MAX_EXPONENT, xy / xx)) : 0;
  }
}
