package io.sluice.bench.driver;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.BlockStoreShuffleReader;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/**
 * Spark's own shuffle without the network: where a reduce task would fetch a block from another executor, it
 * reads a block of the same reduce partition that its own executor wrote once more.
 *
 * <p>Blocks of a partition are about equally large, so a task reads, decodes and sorts as much as before, but
 * the result is wrong, and a join of keys that lie in equal places on both sides finds more pairs. The time that
 * is left shows what a network without latency and cost would give; the method is that of SparkRDMA's slides
 * (2017). Without a local block, as in a master of one process, nothing changes.
 */
public final class NetworkBypass extends SortShuffleManager {

  /** Created by Spark from {@code spark.shuffle.manager}. */
  public NetworkBypass(SparkConf conf) {
    super(conf);
  }

  @Override
  public <K, C> ShuffleReader<K, C> getReader(ShuffleHandle handle, int startMap, int endMap, int startPartition,
      int endPartition, TaskContext context, ShuffleReadMetricsReporter metrics) {
    @SuppressWarnings("unchecked") BaseShuffleHandle<K, ?, C> base = (BaseShuffleHandle<K, ?, C>) handle;
    SparkEnv env = SparkEnv.get();
    MapOutputTracker tracker = env.mapOutputTracker();
    List<Located> blocks =
        located(tracker.getMapSizesByExecutorId(handle.shuffleId(), startMap, endMap, startPartition, endPartition));
    return new BlockStoreShuffleReader<>(base,
        asSpark(withoutNetwork(blocks, env.blockManager().shuffleServerId())), context, metrics,
        env.serializerManager(), env.blockManager(), tracker, false);
  }

  /**
   * A block and where it is.
   *
   * @param sizeBytes as the map output tracker estimates it
   * @param mapIndex which map task's output it stands for
   */
  record Located(BlockManagerId address, BlockId block, long sizeBytes, int mapIndex) {}

  /**
   * {@code blocks} with each that is not on {@code local} replaced by one that is, in turn. The map index stays
   * that of the block replaced: Spark reads a block and map index once only.
   */
  static List<Located> withoutNetwork(List<Located> blocks, BlockManagerId local) {
    List<Located> own = blocks.stream().filter(block -> block.address().equals(local)).toList();
    if (own.isEmpty()) {
      return blocks;
    }
    List<Located> result = new ArrayList<>(own);
    int turn = 0;
    for (Located block : blocks) {
      if (!block.address().equals(local)) {
        Located sample = own.get(turn++ % own.size());
        result.add(new Located(local, sample.block(), sample.sizeBytes(), block.mapIndex()));
      }
    }
    return result;
  }

  private static List<Located> located(
      Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> addresses) {
    List<Located> blocks = new ArrayList<>();
    while (addresses.hasNext()) {
      Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>> address = addresses.next();
      Iterator<Tuple3<BlockId, Object, Object>> each = address._2().iterator();
      while (each.hasNext()) {
        Tuple3<BlockId, Object, Object> block = each.next();
        blocks.add(new Located(address._1(), block._1(), (Long) block._2(), (Integer) block._3()));
      }
    }
    return blocks;
  }

  /** As Spark's reader takes them: by address. The converters are deprecated, but in both Scala versions. */
  @SuppressWarnings("deprecation")
  private static Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> asSpark(
      List<Located> blocks) {
    List<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> byAddress = new ArrayList<>();
    for (BlockManagerId address : blocks.stream().map(Located::address).distinct().toList()) {
      List<Tuple3<BlockId, Object, Object>> there = new ArrayList<>();
      blocks.stream().filter(block -> block.address().equals(address))
          .forEach(block -> there.add(new Tuple3<>(block.block(), block.sizeBytes(), block.mapIndex())));
      byAddress.add(new Tuple2<>(address, JavaConverters.asScalaBuffer(there)));
    }
    return JavaConverters.asScalaIterator(byAddress.iterator());
  }
}
