package io.sluice.spark.read;

import io.sluice.spark.SluiceException;
import io.sluice.spark.columnar.BatchTypes;
import io.sluice.spark.columnar.FrameBatches;
import io.sluice.spark.comet.CometDependency;
import io.sluice.spark.comet.CometReaders;
import io.sluice.spark.conf.GpuSettings;
import io.sluice.spark.conf.PoolThreads;
import io.sluice.spark.decode.BatchSource;
import io.sluice.spark.decode.FrameDecoder;
import io.sluice.spark.decode.FrameGroup;
import io.sluice.spark.decode.FrameReader;
import io.sluice.spark.decode.InlineDecoder;
import io.sluice.spark.decode.ReadAheadDecoder;
import io.sluice.spark.decode.ReadMemory;
import io.sluice.spark.decode.ReaderMemory;
import io.sluice.spark.decode.RowIterator;
import io.sluice.spark.decode.SamplingDecoder;
import io.sluice.spark.executor.ExecutorState;
import io.sluice.spark.executor.SampledShuffles;
import io.sluice.spark.fetch.BlockInputs;
import io.sluice.spark.fetch.BlockPlan;
import io.sluice.spark.fetch.FetchFailures;
import io.sluice.spark.fetch.LocalBlockStore;
import io.sluice.spark.fetch.LocalBlocks;
import io.sluice.spark.fetch.NearerCopies;
import io.sluice.spark.fetch.RemoteFetch;
import io.sluice.spark.fetch.SealedBlocks;
import io.sluice.spark.fetch.SparkBlockStore;
import io.sluice.spark.fetch.TransferSize;
import io.sluice.spark.gpu.ExecutorGpu;
import io.sluice.spark.gpu.GpuCopies;
import io.sluice.spark.metrics.ColumnSample;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.ReadCounts;
import io.sluice.spark.order.AggregateAndSort;
import io.sluice.spark.policy.RecordFormat;
import io.sluice.spark.policy.SluiceShuffleHandle;
import java.time.Duration;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.util.TaskCompletionListener;
import scala.Product2;
import scala.collection.Iterator;

/**
 * Reads a range of partitions of a range of map outputs of a shuffle. Made and used on the thread that pulls the task's
 * rows: the task's own, or another one, as {@code pipe()} has.
 *
 * @param <K> Spark's key; on the rows path the partition id, which no consumer of SQL rows looks at
 * @param <C> Spark's combined value; on the rows path the row, an {@code UnsafeRow}
 */
public final class SluiceShuffleReader<K, C> implements ShuffleReader<K, C> {
  private final SluiceShuffleHandle<K, ?, C> handle;
  private final int startMapIndex;
  private final int endMapIndex;
  private final int startPartition;
  private final int endPartition;
  private final TaskContext context;
  private final ShuffleReadMetricsReporter metrics;
  private final ExecutorState executor;
  private final LocalShuffles localShuffles;

  /**
   * @param endMapIndex exclusive; {@code Integer.MAX_VALUE} for all
   * @param endPartition exclusive
   * @param localShuffles those that this process has registered, if it is the driver too
   * @throws SluiceException when a shuffle of SQL rows sorts or aggregates on the reduce side: the manager must not
   *     give such a shuffle a {@link SluiceShuffleHandle}
   */
  public SluiceShuffleReader(SluiceShuffleHandle<K, ?, C> handle, int startMapIndex, int endMapIndex,
      int startPartition, int endPartition, TaskContext context, ShuffleReadMetricsReporter metrics,
      ExecutorState executor, LocalShuffles localShuffles) {
    ShuffleDependency<K, ?, C> dependency = handle.dependency();
    if (handle.format() == RecordFormat.SQL_ROWS
        && (dependency.aggregator().isDefined() || dependency.keyOrdering().isDefined())) {
      throw new SluiceException("shuffle " + handle.shuffleId() + " has an aggregator or a key ordering, which"
          + " the rows path does not know; it should have fallen back to Spark's shuffle: please report this");
    }
    this.handle = handle;
    this.startMapIndex = startMapIndex;
    this.endMapIndex = endMapIndex;
    this.startPartition = startPartition;
    this.endPartition = endPartition;
    this.context = context;
    this.metrics = metrics;
    this.executor = executor;
    this.localShuffles = localShuffles;
  }

  @Override
  @SuppressWarnings("unchecked")
  public Iterator<Product2<K, C>> read() {
    Opened opened = open();
    InsideTask insideTask = new InsideTask(context);
    RowIterator rows = rows(opened, batches(opened.frames(), opened.memory(), opened.counts()), insideTask,
        (schema, mostRows) -> columns(opened, schema, mostRows, insideTask));
    if (handle.format() == RecordFormat.SQL_ROWS) {
      return (Iterator<Product2<K, C>>) (Iterator<?>) rows;
    }
    Counters counters = handle.counters(executor.counters(), context);
    return new AggregateAndSort<>(handle.dependency(), rows, context, metrics, executor, counters, insideTask)
        .records();
  }

  private RowIterator rows(
      Opened opened, BatchSource batches, InsideTask insideTask, RowIterator.Batches columns) {
    RowIterator rows =
        new RowIterator(batches, opened.memory(), context, metrics, opened.failures(), insideTask, columns);
    context.addTaskCompletionListener((TaskCompletionListener) done -> rows.close());
    return rows;
  }

  /** The rows as batches of columns; null where they are not decoded to columns here. */
  private Iterator<ColumnarBatch> columns(Opened opened, StructType schema, int mostRows, InsideTask insideTask) {
    if (!executor.nativeCore() || BatchTypes.of(schema).isEmpty()) {
      return null;
    }
    FrameGroup frames = new FrameGroup(opened.frames(), opened.memory(), opened.counts(), false);
    return new FrameBatches(frames, schema, mostRows, opened.memory(), context, metrics, opened.failures(),
        insideTask, handle.counters(executor.counters(), context));
  }

  /** The records of one of Comet's exchanges: pairs of 0 and batch. */
  public Iterator<Product2<Object, Object>> readBatches(CometDependency comets) {
    boolean singleRowsAlone = CometReaders.singleRowsAlone(comets);
    if (executor.nativeCore() && CometReaders.decodes(comets)) {
      Opened opened = open();
      FrameGroup frames = new FrameGroup(opened.frames(), opened.memory(), opened.counts(), singleRowsAlone);
      return CometReaders.decoded(comets, frames, opened.memory(), context, metrics, opened.failures());
    }
    if (!singleRowsAlone) {
      return CometReaders.ofRows(comets, read(), () -> false, context);
    }
    Opened opened = open();
    // Decodes frame by frame; reading ahead joins small ones.
    RowIterator rows = rows(opened,
        new InlineDecoder(opened.frames(), decoder(), opened.memory(), opened.counts()), new InsideTask(context),
        RowIterator.Batches.NONE);
    return CometReaders.ofRows(comets, rows, rows::isAlone, context);
  }

  /** The blocks, the first of which have been asked for. */
  private record Opened(FrameReader frames, ReaderMemory memory, ReadCounts counts, FetchFailures failures) {}

  private Opened open() {
    context.killTaskIfInterrupted();
    if (context.isCompleted()) {
      throw new SluiceException("shuffle " + handle.shuffleId() + " is read by a task that has ended");
    }
    Counters counters = handle.counters(executor.counters(), context);
    ReadCounts counts = new ReadCounts(counters, handle.exchange());
    SparkEnv env = SparkEnv.get();
    LocalBlockStore store = new SparkBlockStore(env.blockManager(), executor.fetchSettings());
    FetchFailures failures = new FetchFailures(
        counters, shuffleId -> localShuffles.ensureKnown(env.mapOutputTracker(), shuffleId));
    BlockPlan plan = plan(new MapOutputLocations(env.mapOutputTracker(), failures), store);
    ReaderMemory memory = new ReaderMemory(ReadMemory.of(executor.memory().of(context)), counters);
    BlockInputs blocks = blocks(plan, store, env, counts, memory);
    SealedBlocks sealed = executor.frameKey().map(key -> new SealedBlocks(key, plan)).orElse(null);
    return new Opened(new FrameReader(blocks, memory, sealed), memory, counts, failures);
  }

  /** Map tasks of SQL rows report the sizes of Spark's own blocks, those of records the real ones. */
  private TransferSize transferSize() {
    if (handle.format() == RecordFormat.RDD_RECORDS) {
      return TransferSize.AS_REPORTED;
    }
    double typical = executor.settings().blocks().typicalShareOfStock();
    return TransferSize.reportedTimes(executor.reportedBytes().ratio(handle.shuffleId(), typical));
  }

  private BatchSource batches(FrameReader frames, ReadMemory memory, ReadCounts counts) {
    PoolThreads threads = executor.settings().reader().threads();
    FrameDecoder decoder = decoder();
    // Without idle cores now there will hardly be many while this task runs.
    if (threads.most() == 0 || threads.onlyOnIdleCores() && !executor.decoders().hasIdle()) {
      return new InlineDecoder(frames, decoder, memory, counts);
    }
    return new ReadAheadDecoder(frames, decoder, memory, context, executor.decoders(),
        executor.readAheadBytes().of(context), counts, threads.most() + 1, ReadAheadDecoder.MIN_POOL_BYTES);
  }

  /** The decoder, or one that also looks at the encodings of a frame, if this process has not yet. */
  private FrameDecoder decoder() {
    FrameDecoder decoder = executor.nativeCore() ? FrameDecoder.NATIVE : FrameDecoder.JAVA;
    int shuffleId = handle.shuffleId();
    SampledShuffles sampled = executor.sampledShuffles();
    return handle.figures() == null || sampled.contains(shuffleId) ? decoder
        : new SamplingDecoder(decoder, () -> sampled.add(shuffleId),
            columns -> handle.figures().add(new ColumnSample(shuffleId, 1, columns)));
  }

  /** Where the blocks of this task are; {@code store} is asked which of them this process opens itself. */
  private BlockPlan plan(MapOutputLocations locations, LocalBlockStore store) {
    return new BlockPlan(
        locations.of(handle.shuffleId(), startMapIndex, endMapIndex, startPartition, endPartition),
        store::reads, transferSize(), isBatch(), executor.frameKey().isPresent());
  }

  /** Whether neighbouring partitions of a map output are one block. */
  private boolean isBatch() {
    return executor.fetchSettings().batchFetchAllowed()
        && SortShuffleManager.canUseBatchFetch(startPartition, endPartition, context);
  }

  private NearerCopies nearerCopies(ExecutorGpu gpu, ReadMemory memory) {
    GpuSettings settings = executor.settings().gpu();
    return settings.cacheLimitBytes() == 0 ? NearerCopies.NONE
        : new GpuCopies(gpu, memory, Duration.ofMillis(settings.timeoutMillis()));
  }

  /** The blocks; the first remote ones are asked for here. */
  private BlockInputs blocks(BlockPlan plan, LocalBlockStore store, SparkEnv env, ReadCounts counts,
      ReadMemory memory) {
    BlockManager blockManager = env.blockManager();
    NearerCopies copies = executor.gpu().map(gpu -> nearerCopies(gpu, memory)).orElse(NearerCopies.NONE);
    BlockInputs local = new LocalBlocks(plan.local(), store, metrics, counts, copies);
    if (!plan.hasRemote()) {
      return local;
    }
    RemoteFetch fetch = new RemoteFetch(context, blockManager, env.mapOutputTracker(),
        executor.blockClient(blockManager), executor.fetchSettings(), metrics, isBatch());
    return BlockInputs.concat(local, fetch.start(plan, !plan.hasRemote(store::sparkOpensFiles), store, counts));
  }
}
