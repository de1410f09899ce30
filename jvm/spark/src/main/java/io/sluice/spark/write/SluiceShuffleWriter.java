package io.sluice.spark.write;

import io.sluice.nativebridge.Lease;
import io.sluice.spark.SluiceException;
import io.sluice.spark.columnar.BatchToRows;
import io.sluice.spark.columnar.OpenBatch;
import io.sluice.spark.comet.CometBatches;
import io.sluice.spark.comet.CometDependency;
import io.sluice.spark.compat.RowBasedChecksums;
import io.sluice.spark.compat.RowSerializer;
import io.sluice.spark.conf.Settings;
import io.sluice.spark.conf.WriterSettings;
import io.sluice.spark.decode.ReadMemory;
import io.sluice.spark.exchange.PartitionedBatches;
import io.sluice.spark.exchange.PartitionedRows;
import io.sluice.spark.executor.CommitSpeed;
import io.sluice.spark.executor.ExecutorState;
import io.sluice.spark.executor.ReportedBytes;
import io.sluice.spark.gpu.ExecutorGpu;
import io.sluice.spark.memory.Spillable;
import io.sluice.spark.memory.TaskMemory;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ExchangeMetrics;
import io.sluice.spark.metrics.ThreadCpuClock;
import io.sluice.spark.policy.RecordFormat;
import io.sluice.spark.policy.SluiceShuffleHandle;
import io.sluice.spark.record.ShuffleSerializers;
import io.sluice.spark.seal.OutputKeys;
import io.sluice.spark.store.SpillFiles;
import java.io.File;
import java.io.IOException;
import org.apache.spark.Partitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.TaskCompletionListener;
import scala.Option;
import scala.Product2;

/**
 * Writes the map output of one task: rows are copied into pages, pages are encoded to runs of frames, runs become
 * Spark's data, index and checksum files. The rows are Spark SQL's, or made of an RDD's records.
 *
 * <p>Nothing is allocated before the first row. Memory that cannot be had makes it first encode the rows it
 * holds, then move runs to disk, then wait; a long row goes to a file then. Used by the task's thread only.
 */
public final class SluiceShuffleWriter<K, V> extends ShuffleWriter<K, V> implements Spillable {
  private static final long FIRST_PAGE_BYTES = 64 * 1024;
  private static final int PAGE_GROWTH = 4;
  private static final int ROW_ALIGNMENT = 8;
  /**
   * A longer part of a task's memory is for no single row. Its page, its encoded form and, in the task that reads it,
   * a frame and rows of each side of a join must fit.
   */
  private static final int LARGE_ROW_SHARE = 4;

  private final ShuffleDependency<?, ?, ?> dependency;
  private final RecordFormat format;
  /** Null unless the exchange is Comet's. */
  private final CometDependency comets;
  private final Partitioner partitioner;
  private final int partitions;
  private final TaskContext context;
  private final ShuffleWriteMetricsReporter metrics;
  private final WriterSettings settings;
  private final boolean rowsMayMove;
  private final BatchSize batchSize;
  private final Counters counters;
  private final TaskMemory memory;
  /** Bytes of Spark's rows; null where the exchange has no such metric, or {@link CometBatches} adds to it. */
  private final SQLMetric dataSize;
  /** Null for none. */
  private final ExchangeMetrics exchange;
  private final boolean rowChecksums;
  private final boolean guessOrder;
  private final ShuffleSerializers serializers;
  private final boolean nativeCore;
  private final MapOutput output;
  private final BatchEncoder encoder;
  private final MapOutputCommit commit;
  /** Keeps copies of map outputs; null for none. */
  private final ExecutorGpu gpuCache;
  private final boolean sealed;
  /** Null for an RDD's records: adaptive execution, which plans by block sizes, is SQL's only. */
  private final StockSizeEstimator stockSizes;
  private final CommitSpeed commitSpeed;
  private final ReportedBytes reportedBytes;

  private PageBatch batch;
  private PageWriter page;
  private long nextPageBytes;
  /** Those of earlier batches and those in files. */
  private long writtenRecords;
  private long writtenRowBytes;
  private long spills;
  private long spilledBytes;
  private long peakBytes;
  private MapStatus mapStatus;
  private boolean closed;

  /** Called on the task's thread. */
  public SluiceShuffleWriter(
      SluiceShuffleHandle<?, ?, ?> handle, long mapId, TaskContext context, ShuffleWriteMetricsReporter metrics,
      ExecutorState executor, IndexShuffleBlockResolver resolver) {
    this.dependency = handle.dependency();
    this.format = handle.format();
    this.partitioner = dependency.partitioner();
    this.partitions = partitioner.numPartitions();
    this.context = context;
    this.metrics = metrics;
    Settings all = executor.settings();
    this.settings = all.writer();
    this.rowsMayMove = all.memory().offHeapEnabled();
    this.batchSize = new BatchSize(settings, all.memory(), all.cores().tasks(), partitions);
    this.guessOrder = all.guessOrder();
    this.commitSpeed = executor.commitSpeed();
    this.serializers = executor.shuffleSerializers();
    this.nativeCore = executor.nativeCore();
    this.counters = handle.counters(executor.counters(), context);
    this.memory = executor.memory().of(context);
    this.comets = CometDependency.of(dependency);
    this.dataSize = format == RecordFormat.SQL_ROWS && !takesBatches()
        ? RowSerializer.dataSize(dependency.serializer()) : null;
    this.exchange = handle.exchange();
    this.rowChecksums = RowBasedChecksums.wanted(dependency);
    BlockManager blockManager = SparkEnv.get().blockManager();
    SpillFiles spills = new SpillFiles(blockManager.diskBlockManager(), counters);
    OutputKeys keys = executor.frameKey().map(key -> key.output(handle.shuffleId(), mapId)).orElse(null);
    this.output = new MapOutput(
        () -> newRuns(executor, keys), partitions, rowChecksums, keys, all.blocks(), memory, spills, counters);
    this.encoder =
        new BatchEncoder(output, memory, executor.encoders(), executor.gpu().orElse(null), context, counters);
    this.commit = new MapOutputCommit(resolver, blockManager, handle.shuffleId(), mapId, all.blocks(),
        executor.fetchSettings().maxBlockBytesToMemory(), !executor.nativeCore(), executor.cache());
    this.gpuCache = all.gpu().cacheLimitBytes() > 0 ? executor.gpu().orElse(null) : null;
    this.sealed = keys != null;
    this.reportedBytes = executor.reportedBytes();
    this.stockSizes = format == RecordFormat.SQL_ROWS
        ? new StockSizeEstimator(StockCodec.of(SparkEnv.get().conf()), partitions, context.partitionId()) : null;
    this.nextPageBytes = Math.min(FIRST_PAGE_BYTES, settings.pageBytes());
    memory.setSpillable(this);
    context.addTaskCompletionListener((TaskCompletionListener) ended -> close());
  }

  private Runs newRuns(ExecutorState executor, OutputKeys keys) {
    return executor.nativeCore()
        ? new NativeRuns(
            partitions, executor.settings().blocks(), rowChecksums, keys, executor.gpu().orElse(null))
        : new JavaRuns(partitions, executor.memory().arena(), rowChecksums, keys);
  }

  @Override
  public void write(scala.collection.Iterator<Product2<K, V>> records) throws IOException {
    if (takesBatches()) {
      writeBatches(records);
    } else if (format == RecordFormat.SQL_ROWS) {
      writeRows(records);
    } else {
      new RecordRowWriter<K, V>(dependency, this::append, context, counters, serializers, guessOrder)
          .write(records);
    }
    finish();
    if (comets != null) {
      comets.wrote(output.encodeNanos(), spills, spilledBytes);
    }
  }

  private boolean takesBatches() {
    return comets != null && comets.writesBatches();
  }

  private void writeRows(scala.collection.Iterator<Product2<K, V>> records) throws IOException {
    if (records instanceof PartitionedRows) {
      writeRows((PartitionedRows<?>) (scala.collection.Iterator<?>) records);
      return;
    }
    while (records.hasNext()) {
      Product2<K, V> record = records.next();
      append(partitioner.getPartition(record._1()), (UnsafeRow) record._2());
    }
  }

  /** The partitions are the exchange's, whose partitioner passes them on. */
  private void writeRows(PartitionedRows<?> rows) throws IOException {
    try (PartitionedBatches batches = nativeCore ? rows.takeBatches(ReadMemory.sparing(memory)) : null) {
      if (batches == null) {
        while (rows.advance()) {
          append(rows.partition(), rows.row());
        }
      } else {
        BatchToRows.Sink sink = new BatchSink();
        while (batches.writeNext(sink)) {
          // The batch's rows are in pages now. Pages ask whether the task is killed, but a small batch fills none.
          context.killTaskIfInterrupted();
        }
      }
    }
    rows.count(counters, exchange);
  }

  private void writeBatches(scala.collection.Iterator<Product2<K, V>> records) throws IOException {
    try (CometBatches batches = new CometBatches(comets, nativeCore, ReadMemory.of(memory))) {
      BatchToRows.Sink sink = new BatchSink();
      while (records.hasNext()) {
        batches.write((ColumnarBatch) records.next()._2(), sink);
        context.killTaskIfInterrupted();
      }
      batches.count(counters);
    }
  }

  /** Takes the rows of batches. */
  private final class BatchSink implements BatchToRows.Sink {
    @Override
    public void append(int partition, UnsafeRow row) throws IOException {
      SluiceShuffleWriter.this.append(partition, row);
    }

    @Override
    public void append(OpenBatch rows) throws IOException {
      SluiceShuffleWriter.this.append(rows);
    }
  }

  /** Copies the rows of a batch into pages. */
  private void append(OpenBatch rows) throws IOException {
    int row = 0;
    while (row < rows.rows()) {
      int copied = page == null || rows.fields() != batch.fields() ? 0 : page.append(rows, row, stockSizes::add);
      row += copied;
      if (copied == 0) {
        row += appendToNewPage(rows, row);
      }
    }
  }

  /**
   * Starts a page for the next row of a batch; a row for which there is no memory goes to a file.
   *
   * @return how many rows were appended
   */
  private int appendToNewPage(OpenBatch rows, int row) throws IOException {
    int bytes = rows.rowBytes(row);
    newPage(rows.fields(), bytes);
    if (page != null) {
      int copied = page.append(rows, row, stockSizes::add);
      if (copied == 0) {
        throw new IllegalStateException("a new page refused a row of " + bytes + " bytes");
      }
      return copied;
    }
    UnsafeRow large = rows.row(row);
    int partition = rows.partition(large);
    stockSizes.add(partition, bytes);
    writeRowToFile(partition, rows.fields(), large.getBaseObject(), large.getBaseOffset(), bytes);
    return 1;
  }

  /** Starts a page for a row of so many bytes, of a new batch if need be; null if there is no memory for the row. */
  private void newPage(int fields, int bytes) throws IOException {
    prepareForNewPage(fields);
    page = startPage(fields, bytes);
    notePeak();
  }

  private void prepareForNewPage(int fields) throws IOException {
    context.killTaskIfInterrupted();
    encoder.settleFinished();
    if (batch != null && (batch.fields() != fields || batch.filledBytes() >= batchLimit())) {
      flush(false, false);
    }
  }

  private void append(int partition, UnsafeRow row) throws IOException {
    int bytes = row.getSizeInBytes();
    stockSizes.add(partition, bytes);
    // Row and batch must agree in fields; everything unusual takes the slow way.
    if (page == null || row.numFields() != batch.fields() || bytes % ROW_ALIGNMENT != 0
        || !page.append(partition, row.getBaseObject(), row.getBaseOffset(), bytes)) {
      appendToNewPage(partition, row.numFields(), row.getBaseObject(), row.getBaseOffset(), bytes, rowsMayMove);
    }
  }

  /** Adds a row that holds {@code records} records. */
  private void append(int partition, int fields, byte[] row, int bytes, int records) throws IOException {
    if (page == null || fields != batch.fields() || !page.append(partition, row, Platform.BYTE_ARRAY_OFFSET, bytes)) {
      appendToNewPage(partition, fields, row, Platform.BYTE_ARRAY_OFFSET, bytes, false);
    }
    if (batch == null) {
      // The row is in a file.
      countRecords(records - 1);
    } else {
      batch.addRecords(records - 1);
    }
  }

  /** @param movable whether the row may lie in memory of another operator of the task, which leasing may make spill */
  private void appendToNewPage(int partition, int fields, Object base, long offset, int bytes, boolean movable)
      throws IOException {
    if (bytes % ROW_ALIGNMENT != 0) {
      throw new SluiceException("a row of shuffle " + dependency.shuffleId() + " has " + bytes
          + " bytes, which is not a multiple of 8: not a row that Spark SQL made");
    }
    prepareForNewPage(fields);
    Object stable = base;
    long stableOffset = offset;
    if (movable) {
      stable = copy(base, offset, bytes);
      stableOffset = Platform.BYTE_ARRAY_OFFSET;
    }
    page = startPage(fields, bytes);
    notePeak();
    if (page == null) {
      writeRowToFile(partition, fields, stable, stableOffset, bytes);
    } else if (!page.append(partition, stable, stableOffset, bytes)) {
      throw new IllegalStateException("a new page refused a row of " + bytes + " bytes");
    }
  }

  /** Writes a row that is too long for the memory outside the heap to a file, after those of the batch. */
  private void writeRowToFile(int partition, int fields, Object base, long offset, int bytes) throws IOException {
    flush(true, false);
    long start = System.nanoTime();
    long written = output.writeRow(encoder.takeSequence(), partition, fields, base, offset, bytes);
    metrics.incWriteTime(System.nanoTime() - start);
    context.taskMetrics().incDiskBytesSpilled(written);
    counters.increment(Counter.WRITE_ROWS_TO_FILES);
    counters.add(Counter.WRITE_SPILLED_BYTES, written);
    countRecords(1);
    countRowBytes(bytes);
    if (stockSizes != null) {
      stockSizes.sampleRow(partition, base, offset, bytes);
    }
  }

  private static byte[] copy(Object base, long offset, int bytes) {
    byte[] copy = new byte[bytes];
    Platform.copyMemory(base, offset, copy, Platform.BYTE_ARRAY_OFFSET, bytes);
    return copy;
  }

  private long batchLimit() {
    long records = writtenRecords + batch.records();
    long rowBytes = writtenRowBytes + batch.rowBytes();
    return batchSize.bytes(rowBytes / Math.max(1, records));
  }

  /**
   * A page of the batch with room for a row; a small one when memory is short. May flush the batch and spill.
   *
   * @return null for a large row that there is no memory for
   */
  private PageWriter startPage(int fields, int rowBytes) throws IOException {
    if (rowBytes > Math.max(FIRST_PAGE_BYTES, memory.mostBytes() / LARGE_ROW_SHARE)) {
      return null;
    }
    long needed = PageWriter.bytesFor(rowBytes);
    long wanted = Math.max(nextPageBytes, needed);
    long encodeBytes = encodeBytesFor(wanted, fields, rowBytes);
    Lease lease = memory.tryLeaseForRows(wanted, encodeBytes);
    if (lease != null) {
      nextPageBytes = Math.min(settings.pageBytes(), nextPageBytes * PAGE_GROWTH);
    } else {
      nextPageBytes = Math.min(FIRST_PAGE_BYTES, settings.pageBytes());
      long least = Math.max(nextPageBytes, needed);
      encodeBytes = encodeBytesFor(least, fields, rowBytes);
      lease = isLarge(rowBytes) ? memory.leaseForLongRow(least, encodeBytes)
          : memory.leaseForRows(least, encodeBytes, "rows of shuffle " + dependency.shuffleId());
    }
    if (lease == null) {
      return null;
    }
    if (batch == null) {
      encodeBytes = quotaOfFirstPage(lease, fields, rowBytes, encodeBytes);
      batch = new PageBatch(fields);
    }
    return isLarge(rowBytes)
        ? batch.addPageOf(lease, encodeBytes, rowBytes) : batch.addPage(lease, encodeBytes);
  }

  /**
   * Quota for encoding of a batch that begins with the page {@code lease}. What was taken with the page is less when
   * the task had a batch then, which was encoded and spilled to make room.
   */
  private long quotaOfFirstPage(Lease lease, int fields, int rowBytes, long taken) {
    long more = encodeBytesFor(lease.bytes(), fields, rowBytes) - taken;
    return more > 0 && memory.tryReserveForRows(more) ? taken + more : taken;
  }

  private boolean isLarge(int rowBytes) {
    return PageWriter.bytesFor(rowBytes) > settings.pageBytes();
  }

  /** What encoding takes for a page more, which {@code rowBytes} and more rows as those before it will fill. */
  private long encodeBytesFor(long pageBytes, int fields, int rowBytes) {
    PageBatch growing = batch == null ? new PageBatch(fields) : batch;
    boolean large = isLarge(rowBytes);
    long average = batch == null ? rowBytes : Math.min(pageBytes, batch.rowBytes() / Math.max(1, batch.rows()));
    long expected = large ? rowBytes : average;
    long needed = growing.lackingEncodeBytes(output, pageBytes, expected, large);
    // A row whose scratch memory does not fit the limit passes all the same if it and its run do: the scratch memory is
    // there for one encode only.
    return large && pageBytes + needed > memory.mostBytes()
        ? growing.lackingEncodeBytes(output, pageBytes, expected, false) : needed;
  }

  /**
   * Hands the batch to be encoded; on this thread when {@code here}.
   *
   * @param spilling whether {@link #spill} asks for it
   */
  private void flush(boolean here, boolean spilling) throws IOException {
    if (batch == null) {
      return;
    }
    PageBatch full = batch;
    batch = null;
    page = null;
    prepare(full, spilling);
    if (here) {
      encoder.encodeHere(full);
    } else {
      encoder.encode(full);
    }
    notePeak();
  }

  /** What comes before the encoder takes over a batch; frees the batch when that fails. */
  private void prepare(PageBatch full, boolean spilling) {
    boolean prepared = false;
    try {
      account(full);
      full.reserveEncode(output, memory, !spilling);
      if (stockSizes != null) {
        stockSizes.sample(full.describe());
      }
      prepared = true;
    } finally {
      if (!prepared) {
        full.release(memory);
      }
    }
  }

  private void account(PageBatch full) {
    countRecords(full.records());
    countRowBytes(full.rowBytes());
  }

  private void countRecords(long records) {
    writtenRecords += records;
    metrics.incRecordsWritten(records);
    counters.add(Counter.WRITE_RECORDS, records);
  }

  private void countRowBytes(long rowBytes) {
    writtenRowBytes += rowBytes;
    if (dataSize != null) {
      dataSize.add(rowBytes);
    }
    counters.add(Counter.WRITE_ROW_BYTES, rowBytes);
  }

  /**
   * Gives back memory, cheapest first: waits for running encodes, encodes the rows collected so far, moves runs to
   * disk.
   */
  @Override
  public long spill(long bytes) throws IOException {
    long before = heldBytes();
    encoder.settleAll();
    if (before - heldBytes() < bytes) {
      flush(true, true);
    }
    if (before - heldBytes() < bytes) {
      spillRuns();
    }
    return before - heldBytes();
  }

  private void spillRuns() throws IOException {
    long runBytes = output.runBytes();
    long start = System.nanoTime();
    long written = output.spill();
    if (written > 0) {
      metrics.incWriteTime(System.nanoTime() - start);
      context.taskMetrics().incMemoryBytesSpilled(runBytes);
      context.taskMetrics().incDiskBytesSpilled(written);
      spills++;
      spilledBytes += written;
      counters.increment(Counter.WRITE_SPILLS);
      counters.add(Counter.WRITE_SPILLED_BYTES, written);
    }
  }

  private long heldBytes() {
    return (batch == null ? 0 : batch.quotaBytes()) + encoder.runningBytes() + output.runBytes();
  }

  private void notePeak() {
    peakBytes = Math.max(peakBytes, heldBytes());
  }

  private void finish() throws IOException {
    long written;
    long nanos;
    long cpuStart;
    Long rowChecksum;
    if (commitsBesideLastEncode()) {
      cpuStart = cpuBesideEncodes();
      try (LastBatch last = new LastBatch()) {
        written = commit.commit(output, last, partitions);
        nanos = encoder.besideNanos();
      }
      rowChecksum = rowChecksums ? (Long) output.rowChecksum() : null;
    } else {
      flush(true, false);
      encoder.settleAll();
      rowChecksum = rowChecksums ? (Long) output.rowChecksum() : null;
      cpuStart = cpuBesideEncodes();
      long start = System.nanoTime();
      written = commit.commit(output, output::commit, partitions);
      nanos = System.nanoTime() - start;
    }
    if (!commit.mayBeInMemory()) {
      commitSpeed.wrote(written, nanos);
    }
    metrics.incWriteTime(nanos);
    metrics.incBytesWritten(written);
    context.taskMetrics().incPeakExecutionMemory(peakBytes);
    counters.increment(Counter.WRITE_MAP_OUTPUTS);
    counters.add(Counter.WRITE_BLOCK_BYTES, written);
    counters.add(Counter.WRITE_COMMIT_NANOS, nanos);
    counters.add(Counter.WRITE_COMMIT_CPU_NANOS, cpuBesideEncodes() - cpuStart);
    if (exchange != null) {
      exchange.wrote(output.encodeNanos(), written);
    }
    mapStatus = commit.mapStatus(output, rowChecksum, stockSizes, reportedBytes);
    counters.add(Counter.WRITE_STOCK_BYTES, commit.estimatedStockBytes());
    if (gpuCache != null && output.hasBatchesByGpu()) {
      commit.keepOn(gpuCache, sealed);
    }
  }

  /** CPU time of this thread but for what it has encoded itself, for differences. */
  private long cpuBesideEncodes() {
    return ThreadCpuClock.nanos() - output.encodeByTaskCpuNanos();
  }

  /**
   * Where files are written slowly. Not where the data file may be in memory: room for it is reserved by its size,
   * which is known only then.
   */
  private boolean commitsBesideLastEncode() throws IOException {
    return batch != null && !commit.mayBeInMemory() && commitSpeed.isSlow()
        && encoder.canCommitBeside(batch, partitions);
  }

  /** The last batch, which a pool thread encodes while the task's thread commits. */
  private final class LastBatch implements MapOutputCommit.DataWriter, AutoCloseable {
    /** Null when the encoder has taken it over. */
    private PageBatch waiting;

    LastBatch() {
      PageBatch last = batch;
      batch = null;
      page = null;
      prepare(last, false);
      notePeak();
      // A spill would free the pages of a batch of which only some partitions are encoded.
      memory.setSpillable(null);
      waiting = last;
    }

    @Override
    public long write(File file, long[] lengths, long[] checksums) throws IOException {
      PageBatch last = waiting;
      waiting = null;
      return encoder.commitBeside(last, partitions, file, lengths, checksums);
    }

    @Override
    public void close() {
      if (waiting != null) {
        waiting.release(memory);
      }
    }
  }

  @Override
  public Option<MapStatus> stop(boolean success) {
    boolean first = !closed;
    close();
    return Option.apply(success && first ? mapStatus : null);
  }

  /** Frees all that the writer holds; twice is fine. */
  private void close() {
    if (closed) {
      return;
    }
    closed = true;
    memory.setSpillable(null);
    encoder.abandon();
    if (batch != null) {
      batch.release(memory);
      batch = null;
      page = null;
    }
    output.close();
    commit.abort();
  }

  @Override
  public long[] getPartitionLengths() {
    return commit.lengths();
  }
}
