package io.sluice.systemtests;

import org.apache.spark.executor.TaskMetrics;

/** Spark's shuffle metrics, summed over tasks: records, and bytes of blocks. */
record ShuffleTotals(
    long recordsWritten, long recordsRead, long bytesWritten, long bytesRead, long localBlocks, long remoteBlocks,
    long writeNanos) {
  static final ShuffleTotals ZERO = new ShuffleTotals(0, 0, 0, 0, 0, 0, 0);

  static ShuffleTotals of(TaskMetrics metrics) {
    var write = metrics.shuffleWriteMetrics();
    var read = metrics.shuffleReadMetrics();
    return new ShuffleTotals(
        write.recordsWritten(), read.recordsRead(), write.bytesWritten(), read.totalBytesRead(),
        read.localBlocksFetched(), read.remoteBlocksFetched(), write.writeTime());
  }

  ShuffleTotals plus(ShuffleTotals other) {
    return new ShuffleTotals(
        recordsWritten + other.recordsWritten,
        recordsRead + other.recordsRead,
        bytesWritten + other.bytesWritten,
        bytesRead + other.bytesRead,
        localBlocks + other.localBlocks,
        remoteBlocks + other.remoteBlocks,
        writeNanos + other.writeNanos);
  }
}
