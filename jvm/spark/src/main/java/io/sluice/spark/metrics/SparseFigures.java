package io.sluice.spark.metrics;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/**
 * {@link ShuffleFigures} as bytes: ids, then pairs of a counter's ordinal and its value, for those that are not 0.
 * Driver and executors have the same jar.
 */
final class SparseFigures {
  private static final int END = -1;

  private SparseFigures() {}

  static void write(DataOutput out, ShuffleFigures figures) throws IOException {
    out.writeInt(figures.shuffleId());
    out.writeInt(figures.stageId());
    out.writeInt(figures.stageAttempt());
    long[] values = figures.values();
    for (int i = 0; i < values.length; i++) {
      if (values[i] != 0) {
        out.writeShort(i);
        out.writeLong(values[i]);
      }
    }
    out.writeShort(END);
  }

  static ShuffleFigures read(DataInput in) throws IOException {
    int shuffleId = in.readInt();
    int stageId = in.readInt();
    int stageAttempt = in.readInt();
    long[] values = new long[Counter.values().length];
    for (int at = in.readShort(); at != END; at = in.readShort()) {
      long value = in.readLong();
      if (at >= 0 && at < values.length) {
        values[at] = value;
      }
    }
    return new ShuffleFigures(shuffleId, stageId, stageAttempt, values);
  }
}
