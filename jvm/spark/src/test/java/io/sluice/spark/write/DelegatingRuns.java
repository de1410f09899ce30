package io.sluice.spark.write;

import java.io.File;
import java.io.IOException;

/** Passes all calls on; a test changes some of them. */
class DelegatingRuns implements Runs {
  private final Runs runs;

  DelegatingRuns(Runs runs) {
    this.runs = runs;
  }

  @Override
  public long encodeNeeds(long rowBytes, long rows, long largeRowBytes, int fields) {
    return runs.encodeNeeds(rowBytes, rows, largeRowBytes, fields);
  }

  @Override
  public long encode(long sequence, int fields, long[] pages) {
    return runs.encode(sequence, fields, pages);
  }

  @Override
  public long encodeOnGpu(long sequence, int fields, long[] pages) {
    return runs.encodeOnGpu(sequence, fields, pages);
  }

  @Override
  public int waitingForGpu() {
    return runs.waitingForGpu();
  }

  @Override
  public long batchesByGpu() {
    return runs.batchesByGpu();
  }

  @Override
  public void addRow(long sequence, int partition, File file, long start, long bytes, long rowHash, byte[] seal) {
    runs.addRow(sequence, partition, file, start, bytes, rowHash, seal);
  }

  @Override
  public long memoryBytes() {
    return runs.memoryBytes();
  }

  @Override
  public long framesRepeated() {
    return runs.framesRepeated();
  }

  @Override
  public long spill(File file) throws IOException {
    return runs.spill(file);
  }

  @Override
  public long commit(File file, int checksumAlgorithm, long[] lengths, long[] checksums) throws IOException {
    return runs.commit(file, checksumAlgorithm, lengths, checksums);
  }

  @Override
  public PartCommit partCommit() {
    return runs.partCommit();
  }

  @Override
  public long rowChecksum() {
    return runs.rowChecksum();
  }

  @Override
  public void close() {
    runs.close();
  }
}
