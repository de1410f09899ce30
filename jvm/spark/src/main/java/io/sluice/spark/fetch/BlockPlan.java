package io.sluice.spark.fetch;

import io.sluice.spark.SluiceException;
import io.sluice.spark.compat.ScalaIterators;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterable;
import scala.collection.Iterator;

/**
 * The blocks of one reduce task, split by where they are: on this host's disks (opened by us) or elsewhere
 * (left to Spark's fetch iterator, with the sizes that will travel).
 */
public final class BlockPlan {
  private final Predicate<BlockManagerId> isLocal;
  private final TransferSize sizes;
  private final boolean batch;
  private final List<ShuffleBlock> local = new ArrayList<>();
  private final List<Object> remote = new ArrayList<>();
  /** By map id, which no two map outputs share: the executors that have the remote outputs. */
  private final Map<Long, RemoteMap> remoteMaps = new HashMap<>();

  private final boolean keepsPartitions;
  /** By map id, in batches of sealed blocks. */
  private final Map<Long, PartitionsWithRows> partitionsWithRows = new HashMap<>();

  private record RemoteMap(BlockManagerId address, int mapIndex) {}

  /** Partitions of one map output that have rows; the tracker names them in ascending order. */
  private record PartitionsWithRows(int first, BitSet fromFirst) {}

  /**
   * @param byAddress tuples of {@link BlockManagerId} and a sequence of (block id, size, map index), as {@code
   *     MapOutputTracker} gives them: without empty blocks
   * @param isLocal whose blocks this process opens itself
   * @param sizes of blocks that travel
   * @param batch whether neighbouring partitions of one map are one block
   * @param sealed whether {@link #partitionsWithRows} will be asked for
   */
  public BlockPlan(Iterator<? extends Tuple2<BlockManagerId, ?>> byAddress, Predicate<BlockManagerId> isLocal,
      TransferSize sizes, boolean batch, boolean sealed) {
    this.keepsPartitions = batch && sealed;
    this.isLocal = isLocal;
    this.sizes = sizes;
    this.batch = batch;
    while (byAddress.hasNext()) {
      add(byAddress.next());
    }
  }

  /** The blocks that we open, in the tracker's order. */
  public List<ShuffleBlock> local() {
    return local;
  }

  public boolean hasRemote() {
    return !remote.isEmpty();
  }

  /** Whether there is a remote block of an executor of which {@code condition} holds. */
  public boolean hasRemote(Predicate<BlockManagerId> condition) {
    return remoteMaps.values().stream().map(RemoteMap::address).distinct().anyMatch(condition);
  }

  /** The blocks that Spark's fetch iterator fetches. */
  public Iterator<Object> remote() {
    return ScalaIterators.of(remote.iterator());
  }

  /** The block that Spark's fetch iterator gives as {@code id}. */
  ShuffleBlock remoteBlock(BlockId id) {
    RemoteMap map = null;
    if (id instanceof ShuffleBlockId || id instanceof ShuffleBlockBatchId) {
      map = remoteMaps.get(new ShuffleBlock(id, null, 0).mapId());
    }
    if (map == null) {
      throw new SluiceException("Spark fetched block " + id + ", which this task did not ask for");
    }
    return new ShuffleBlock(id, map.address(), map.mapIndex());
  }

  /** The partitions of a block that have rows, as their map task has reported, ascending. */
  int[] partitionsWithRows(ShuffleBlock block) {
    if (block.id() instanceof ShuffleBlockBatchId range) {
      PartitionsWithRows all = partitionsWithRows.get(range.mapId());
      return all.fromFirst().get(range.startReduceId() - all.first(), range.endReduceId() - all.first()).stream()
          .map(partition -> range.startReduceId() + partition).toArray();
    }
    return new int[] {block.reduceId()};
  }

  private void keepPartition(ShuffleBlockId block) {
    PartitionsWithRows all = partitionsWithRows.computeIfAbsent(
        block.mapId(), map -> new PartitionsWithRows(block.reduceId(), new BitSet()));
    all.fromFirst().set(block.reduceId() - all.first());
  }

  private void add(Tuple2<BlockManagerId, ?> addressed) {
    BlockManagerId address = addressed._1();
    Iterator<?> blocks = ((Iterable<?>) addressed._2()).iterator();
    boolean here = isLocal.test(address);
    List<Tuple3<?, ?, ?>> sized = new ArrayList<>();
    while (blocks.hasNext()) {
      Tuple3<?, ?, ?> block = (Tuple3<?, ?, ?>) blocks.next();
      BlockId id = (BlockId) block._1();
      int mapIndex = (Integer) block._3();
      if (keepsPartitions) {
        keepPartition((ShuffleBlockId) id);
      }
      if (here) {
        addLocal(new ShuffleBlock(batch ? asBatch(id) : id, address, mapIndex));
      } else {
        remoteMaps.putIfAbsent(new ShuffleBlock(id, address, mapIndex).mapId(), new RemoteMap(address, mapIndex));
        sized.add(new Tuple3<>(id, sizes.bytes((Long) block._2()), mapIndex));
      }
    }
    if (!here) {
      remote.add(new Tuple2<>(address, ScalaIterators.of(sized.iterator()).toList()));
    }
  }

  private static BlockId asBatch(BlockId id) {
    ShuffleBlockId block = (ShuffleBlockId) id;
    return new ShuffleBlockBatchId(block.shuffleId(), block.mapId(), block.reduceId(), block.reduceId() + 1);
  }

  /** Adds a block, or widens the last one to it: empty partitions in between take no bytes. */
  private void addLocal(ShuffleBlock block) {
    ShuffleBlock last = local.isEmpty() ? null : local.get(local.size() - 1);
    if (batch && last != null && last.mapId() == block.mapId()) {
      int end = ((ShuffleBlockBatchId) block.id()).endReduceId();
      BlockId wider = new ShuffleBlockBatchId(block.shuffleId(), block.mapId(), last.reduceId(), end);
      local.set(local.size() - 1, new ShuffleBlock(wider, last.address(), last.mapIndex()));
    } else {
      local.add(block);
    }
  }
}
