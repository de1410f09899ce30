package io.sluice.spark.metrics;

/**
 * Everything Sluice counts, declared once. The values live in {@link Counters}; the plugin registers each as a
 * Spark metric under its {@link #id}.
 */
public enum Counter {
  SHUFFLES_ROWS("shuffles.rows", Unit.COUNT, "shuffles of SQL rows registered in Sluice's format"),
  SHUFFLES_RECORDS("shuffles.records", Unit.COUNT, "shuffles of RDD records registered in Sluice's format"),
  SHUFFLES_SPARK_CODEC("shuffles.sparkCodec", Unit.COUNT,
      "shuffles in Spark's own format, because spark.sluice.codec is spark"),
  SHUFFLES_STOCK("shuffles.stock", Unit.COUNT, "shuffles that fell back to Spark's own sort shuffle"),

  PLANS_SORTS_BY_SPARK("plans.sortsBySpark", Unit.COUNT,
      "sorts in SQL plans, those that are only explained too, that stay Spark's where the session wants Sluice's; the "
          + "driver's log says why"),
  PLANS_EXCHANGES_BY_SPARK("plans.exchangesBySpark", Unit.COUNT,
      "exchanges in SQL plans, those that are only explained too, whose partitions Spark's function finds where the "
          + "session wants Sluice to; the driver's log says why"),

  CLEANUP_SHUFFLES("cleanup.shuffles", Unit.COUNT,
      "shuffles of SQL executions that were removed because the execution had ended (spark.sluice.sql.cleanup); "
          + "counted on the driver"),

  EXECUTORS_WITHOUT_NATIVE_LIBRARY("executors.withoutNativeLibrary", Unit.COUNT,
      "executors that cannot use the native library: they read and write frames in Java"),
  EXECUTORS_REFUSED("executors.refused", Unit.COUNT,
      "executors that were refused because they have another Sluice than the driver, or none; counted on the driver"),

  WRITE_MAP_OUTPUTS("write.mapOutputs", Unit.COUNT, "map outputs committed"),
  WRITE_RECORDS("write.records", Unit.COUNT, "rows written"),
  WRITE_RECORDS_SERIALIZED("write.recordsSerialized", Unit.COUNT,
      "of those, records of RDDs that the shuffle's own serializer serialized"),
  WRITE_RANGES_PROVEN("write.rangesProven", Unit.COUNT,
      "records whose range was found by a guess of the range partitioner's order, and confirmed by its ordering"),
  WRITE_RANGES_REFUTED("write.rangesRefuted", Unit.COUNT,
      "records for which the ordering refuted the range that was found; the partitioner found theirs"),
  WRITE_PARTITIONS_FOUND("write.partitionsFound", Unit.COUNT,
      "rows of SQL exchanges, Comet's included, whose partition Sluice found without Spark's function, which makes a "
          + "pair for each row"),
  WRITE_PARTITIONS_ASKED("write.partitionsAsked", Unit.COUNT,
      "rows of the same exchanges whose partition Spark's function found: the first of each task (50,000 where an "
          + "expression is hashed), rows beside the bounds of ranges, all after a refutation or where ranges are "
          + "too narrow for Sluice to pay, and those of Comet's batches that go row by row"),
  WRITE_PARTITIONS_REFUTED("write.partitionsRefuted", Unit.COUNT,
      "tasks in which Spark's function disagreed, and then found all partitions; logged as a warning"),
  WRITE_ROWS_OF_BATCHES("write.rowsOfBatches", Unit.COUNT,
      "rows of SQL exchanges that were taken from batches of columns (spark.sluice.columnar), Comet's exchanges not "
          + "counted"),
  WRITE_ROWS_PROJECTED("write.rowsProjected", Unit.COUNT,
      "rows of such batches that Spark's code made one by one, because a batch could not be taken: the task had no "
          + "memory for copies at once, a column had more than 32 MiB, a value has no place, or a row was refuted"),
  WRITE_ROW_BYTES("write.rowBytes", Unit.BYTES, "bytes of the rows written, before encoding"),
  WRITE_BLOCK_BYTES("write.blockBytes", Unit.BYTES, "bytes committed to data files"),
  WRITE_STOCK_BYTES("write.stockBytes", Unit.BYTES,
      "bytes that the same rows of SQL would have in Spark's own format, as map tasks estimate them for adaptive "
          + "execution by compressing samples with Spark's codec"),
  WRITE_BATCHES_BY_TASK("write.batchesByTask", Unit.COUNT, "batches encoded by the task thread itself"),
  WRITE_BATCHES_BY_POOL("write.batchesByPool", Unit.COUNT,
      "batches encoded by an encoder thread, or handed to a thread that waits for the GPU"),
  WRITE_ENCODES_ABANDONED("write.encodesAbandoned", Unit.COUNT,
      "encodes still running when their failed task ended; each releases its pages when it ends"),
  WRITE_ENCODES_REFUSED("write.encodesRefused", Unit.COUNT,
      "encodes that ended early because the memory limit left no room; after a spill or a wait they went on from "
          + "there"),
  WRITE_FRAMES_REPEATED("write.framesRepeated", Unit.COUNT,
      "frames that were encoded, found no room, and were encoded again"),
  WRITE_SPILLS("write.spills", Unit.COUNT, "times that the encoded rows of a task were moved to a spill file"),
  WRITE_SPILLED_BYTES("write.spilledBytes", Unit.BYTES, "bytes written to spill files"),
  WRITE_ROWS_TO_FILES("write.rowsToFiles", Unit.COUNT,
      "rows written to spill files as they are, because they were too long for the memory to encode them in"),
  WRITE_DIRECTORY_RETRIES("write.directoryRetries", Unit.COUNT,
      "times that a full or unwritable local directory made a writer try the next one"),
  WRITE_ENCODE_NANOS("write.encodeNanos", Unit.NANOS, "time spent encoding, over all threads"),
  WRITE_ENCODE_BY_TASK_CPU_NANOS("write.encodeByTaskCpuNanos", Unit.NANOS,
      "CPU time of task threads that encoded batches themselves"),
  WRITE_COMMITS_BESIDE("write.commitsBesideEncodes", Unit.COUNT,
      "map outputs whose first partitions were written while an encoder thread encoded the others"),
  WRITE_BESIDE_NANOS("write.besideEncodesNanos", Unit.NANOS,
      "of write.commitNanos, the time in which an encoder thread encoded at the same time"),
  WRITE_COMMIT_NANOS("write.commitNanos", Unit.NANOS, "time spent writing data files"),
  WRITE_COMMIT_CPU_NANOS("write.commitCpuNanos", Unit.NANOS, "CPU time of task threads that wrote data files"),

  CACHE_UNAVAILABLE("cache.unavailable", Unit.COUNT,
      "executors that are set to keep map outputs in memory but cannot; they write files"),
  CACHE_OUTPUTS("cache.outputs", Unit.COUNT, "map outputs committed to memory"),
  CACHE_BYTES("cache.bytes", Unit.BYTES, "bytes of map outputs committed to memory"),
  CACHE_REFUSALS("cache.refusals", Unit.COUNT,
      "map outputs written to the disk at once, because memory had no room or writing to it failed"),
  CACHE_MOVES("cache.moves", Unit.COUNT, "map outputs moved from memory to the disk"),
  CACHE_MOVED_BYTES("cache.movedBytes", Unit.BYTES, "bytes of map outputs moved from memory to the disk"),
  CACHE_MOVE_FAILURES("cache.moveFailures", Unit.COUNT,
      "failed moves of a map output from memory to the disk: no local directory could take it"),
  CACHE_MOVES_WITHOUT_COPY("cache.movesWithoutCopy", Unit.COUNT,
      "of cache.moves, those of map outputs that had come back and whose copies were still on the disk"),
  CACHE_RETURNS("cache.returns", Unit.COUNT, "map outputs brought back from the disk to memory"),
  CACHE_RETURNED_BYTES("cache.returnedBytes", Unit.BYTES, "bytes of map outputs brought back from the disk to memory"),
  CACHE_RETURN_FAILURES("cache.returnFailures", Unit.COUNT,
      "map outputs that could not be brought back from the disk to memory"),

  COMBINED_BY_SPARK("combine.movedToSpark", Unit.COUNT,
      "map and reduce tasks that moved records which they were combining to Spark's map, which can spill: memory was "
          + "short, or a key came that its bytes cannot stand for"),

  READ_LOCAL_BLOCKS("read.localBlocks", Unit.COUNT, "blocks read from files of this host"),
  READ_REMOTE_BLOCKS("read.remoteBlocks", Unit.COUNT, "blocks delivered by Spark's fetch iterator"),
  READ_LOCAL_BYTES("read.localBytes", Unit.BYTES, "bytes of the blocks read from files of this host"),
  READ_REMOTE_BYTES("read.remoteBytes", Unit.BYTES, "bytes of the blocks delivered by Spark's fetch iterator"),
  READ_ONE_SIDED_BYTES("read.oneSidedBytes", Unit.BYTES, "of those, bytes that were read one-sidedly"),
  READ_FETCH_WAIT_NANOS("read.fetchWaitNanos", Unit.NANOS,
      "time that readers waited for Spark's fetch iterator to give a block"),
  READ_FRAMES("read.frames", Unit.COUNT, "frames verified and decoded"),
  READ_RECORDS("read.records", Unit.COUNT,
      "rows decoded, and records of Spark's format that were read where executors read it one-sidedly"),
  READ_ROWS_OF_BATCHES("read.rowsOfBatches", Unit.COUNT,
      "rows of SQL exchanges that a columnar operator was given as batches of columns, decoded from frames "
          + "(spark.sluice.columnar), Comet's exchanges not counted"),
  READ_ENCODED_BYTES("read.encodedBytes", Unit.BYTES, "bytes of frames decoded"),
  READ_DECODED_BYTES("read.decodedBytes", Unit.BYTES, "bytes of the decoded rows"),
  READ_PARTITIONS_SORTED_AS_ROWS("read.partitionsSortedAsRows", Unit.COUNT,
      "reduce tasks that sorted records as binary rows, by prefixes (numbers made from their keys)"),
  READ_PARTITIONS_SORTED_BY_SPARK("read.partitionsSortedBySpark", Unit.COUNT,
      "of those, tasks whose rows were moved to Spark's sorter, which can spill, because memory had no room"),
  READ_RUNS_PROVEN("read.runsProven", Unit.COUNT,
      "sorted runs of records whose order was guessed, and proven by the job's comparator"),
  READ_RUNS_REFUTED("read.runsRefuted", Unit.COUNT,
      "runs for which the job's comparator refuted the guess; they were sorted as objects"),
  READ_PARTITIONS_SORTED_AS_OBJECTS("read.partitionsSortedAsObjects", Unit.COUNT,
      "reduce tasks that sorted records as objects: the order is unknown, a key has no prefix, or records are "
          + "combined"),
  READ_PARTITIONS_COMBINED_AS_ROWS("read.partitionsCombinedAsRows", Unit.COUNT,
      "reduce tasks that combined records by the bytes of their keys, all in memory"),
  READ_FRAMES_BY_TASK("read.framesByTask", Unit.COUNT, "frames decoded by the task thread itself"),
  READ_FRAMES_BY_POOL("read.framesByPool", Unit.COUNT, "frames decoded by a decoder thread"),
  READ_DECODE_NANOS("read.decodeNanos", Unit.NANOS, "time spent decoding, over all threads"),
  READ_DECODE_BY_TASK_CPU_NANOS("read.decodeByTaskCpuNanos", Unit.NANOS,
      "CPU time of task threads that decoded frames themselves, measured of every eighth call"),
  READ_CORRUPT_FRAMES("read.corruptFrames", Unit.COUNT, "frames that failed verification"),
  READ_FRAMES_NOT_AUTHENTIC("read.framesNotAuthentic", Unit.COUNT,
      "of these, sealed frames with right checksums that were forged, moved or left out"),
  READ_FETCH_FAILURES("read.fetchFailures", Unit.COUNT, "fetch failures reported to the scheduler"),
  READ_LEFT_TO_CONSUMER("read.leftToConsumer", Unit.COUNT,
      "readers in which another thread than the task's still fetched or decoded when the task ended; that thread frees "
          + "their memory"),

  TRANSPORT_UNAVAILABLE("transport.unavailable", Unit.COUNT,
      "executors that are set to read one-sidedly but cannot use UCX or the native library; blocks are fetched by "
          + "Spark's block transfer"),
  TRANSPORT_WITHOUT_RDMA("transport.withoutRdma", Unit.COUNT,
      "executors that are set to spark.sluice.mode=RDMA and read other hosts over TCP, because there is no RDMA device "
          + "that UCX uses"),
  TRANSPORT_PUBLISHED("transport.published", Unit.COUNT, "map outputs that other executors can read one-sidedly"),
  TRANSPORT_PUBLISH_FAILURES("transport.publishFailures", Unit.COUNT,
      "map outputs that could not be published for one-sided reads; their blocks are fetched by Spark's block "
          + "transfer"),
  TRANSPORT_PEERS_ANNOUNCED("transport.peersAnnounced", Unit.COUNT,
      "executors that were announced as readable one-sidedly"),
  TRANSPORT_PEERS_CONNECTED("transport.peersConnected", Unit.COUNT,
      "connections to executors that were begun, repeated attempts included"),
  TRANSPORT_PEER_FAILURES("transport.peerFailures", Unit.COUNT, "times that an executor could not be read one-sidedly"),
  TRANSPORT_BLOCKS("transport.blocks", Unit.COUNT, "blocks read one-sidedly"),
  TRANSPORT_BYTES("transport.bytes", Unit.BYTES, "bytes of blocks read one-sidedly"),
  TRANSPORT_CMA_BYTES("transport.cmaBytes", Unit.BYTES,
      "bytes read by system calls from the memory of executors on the same machine"),
  TRANSPORT_NETTY_UNKNOWN_PEER("transport.nettyUnknownPeer", Unit.COUNT,
      "blocks left to Spark's block transfer because their executor had not announced itself"),
  TRANSPORT_NETTY_PEER_FAILED("transport.nettyPeerFailed", Unit.COUNT,
      "blocks left to Spark's block transfer because their executor had failed"),
  TRANSPORT_NETTY_TIMEOUT("transport.nettyTimeout", Unit.COUNT,
      "blocks left to Spark's block transfer because their executor did not answer within "
          + "spark.sluice.transport.timeout"),
  TRANSPORT_NETTY_NOT_FOUND("transport.nettyNotFound", Unit.COUNT,
      "blocks left to Spark's block transfer because their executor had not published them"),
  TRANSPORT_NETTY_PEER_BUSY("transport.nettyPeerBusy", Unit.COUNT,
      "blocks left to Spark's block transfer because their executor had reached a limit of mapped map outputs "
          + "(spark.sluice.transport.maxMappedBytes, maxMappedRegions), of open requests for block locations or of "
          + "disk jobs, or its disk did not answer in time"),
  TRANSPORT_NETTY_NO_MEMORY("transport.nettyNoMemory", Unit.COUNT,
      "blocks left to Spark's block transfer because there was no memory to receive them"),
  TRANSPORT_NETTY_TO_DISK("transport.nettyToDisk", Unit.COUNT,
      "blocks left to Spark's block transfer because they must be fetched to disk"),
  TRANSPORT_NETTY_OTHER("transport.nettyOther", Unit.COUNT,
      "blocks left to Spark's block transfer for another reason: an error, or the transport was stopped"),

  MEMORY_REFUSALS("memory.refusals", Unit.COUNT, "requests for memory that could not be granted at once"),
  MEMORY_WAITS("memory.waits", Unit.COUNT, "times that a task waited for memory"),
  MEMORY_WAIT_NANOS("memory.waitNanos", Unit.NANOS, "time that tasks waited for memory"),
  MEMORY_TIMEOUTS("memory.timeouts", Unit.COUNT, "waits for memory that ended in an error"),
  MEMORY_BEYOND_LIMIT("memory.beyondLimit", Unit.COUNT,
      "times that the only task to hold memory took more than the limit, for rows that do not fit within it"),
  MEMORY_LEAKED_LEASES("memory.leakedLeases", Unit.COUNT, "memory leases not released when their task ended"),
  MEMORY_LEAKED_BYTES("memory.leakedBytes", Unit.BYTES,
      "bytes of memory leases and reservations not released when their task ended"),

  GPU_UNAVAILABLE("gpu.unavailable", Unit.COUNT,
      "executors that are set to encode on a GPU but cannot: the driver, the device or the kernels cannot be used, the "
          + "self-test failed, or, with spark.sluice.gpu=on, there is none"),
  GPU_SELF_TESTS_FAILED("gpu.selfTestsFailed", Unit.COUNT,
      "of those, executors whose GPU made other bytes than the CPU"),
  GPU_LOST("gpu.lost", Unit.COUNT,
      "executors whose GPU failed for good, or did not answer in time, and is not used any more"),
  GPU_PINNED_REFUSED("gpu.pinnedRefused", Unit.COUNT,
      "batches that an executor's GPU does not encode at a time, though spark.sluice.gpu.pinned.limit allows them, "
          + "because its driver has pinned less of the host's memory"),
  GPU_BATCHES("gpu.batches", Unit.COUNT, "batches encoded by a GPU, whichever thread waited for it"),
  GPU_ROW_BYTES("gpu.rowBytes", Unit.BYTES, "bytes of the rows in those batches"),
  GPU_ENCODE_NANOS("gpu.encodeNanos", Unit.NANOS,
      "of write.encodeNanos, the time that threads took for batches that a GPU encoded"),
  GPU_FRAMES_BY_CPU("gpu.framesByCpu", Unit.COUNT,
      "frames of those batches that the CPU made, because of their long values and spark.io.compression.codec"),
  GPU_PINNED_BYTES("gpu.pinnedBytes", Unit.BYTES,
      "bytes of rows and their entries that were copied to a GPU from pinned memory (spark.sluice.gpu.pages.limit)"),
  GPU_UNPINNED_BYTES("gpu.unpinnedBytes", Unit.BYTES,
      "those that were copied from memory that was not pinned, one copy at a time"),
  GPU_SORTS("gpu.sorts", Unit.COUNT, "sorts of references to rows that a GPU has done for a task"),
  GPU_SORTED_PAIRS("gpu.sortedPairs", Unit.COUNT, "references in those sorts, each an address and a number"),
  GPU_SORT_NANOS("gpu.sortNanos", Unit.NANOS, "time that threads took for those sorts, copies and waits included"),
  GPU_TOO_SMALL("gpu.tooSmall", Unit.COUNT,
      "batches left to the CPU because they had less than spark.sluice.gpu.minBatchBytes; each task's last one may"),
  GPU_CPU_FASTER("gpu.cpuFaster", Unit.COUNT,
      "batches, and sorts, left to the CPU because it was faster (spark.sluice.gpu=auto), or to see how fast it is"),
  GPU_PAUSED("gpu.paused", Unit.COUNT, "batches, and sorts, left to the CPU because the GPU had failed a moment ago"),
  GPU_BUSY("gpu.busy", Unit.COUNT,
      "batches, and sorts, left to the CPU because as many as spark.sluice.gpu.pinned.limit permits were under way"),
  GPU_TOO_LARGE("gpu.tooLarge", Unit.COUNT,
      "batches left to the CPU because of rows with more bytes or fields than the kernels take, or because they need "
          + "more memory than spark.sluice.gpu.memory.limit ever allows"),
  GPU_CHECKS_FAILED("gpu.checksFailed", Unit.COUNT,
      "batches left to the CPU because the GPU found something wrong with their rows"),
  GPU_WRONG_RESULTS("gpu.wrongResults", Unit.COUNT,
      "batches, and sorts, left to the CPU because what the GPU had made was wrong, or the CPU found nothing wrong "
          + "with rows that the GPU had refused (they are in gpu.checksFailed too); it is not used any more then"),
  GPU_NO_MEMORY("gpu.noMemory", Unit.COUNT,
      "batches, and sorts, left to the CPU because the GPU's memory had no room"),
  GPU_NOT_TAKEN("gpu.notTaken", Unit.COUNT,
      "batches left to the CPU because the memory limit had no room for all that the GPU had made, and sorts that "
          + "ended with their task"),
  GPU_CALLS_FAILED("gpu.callsFailed", Unit.COUNT,
      "batches, and sorts, left to the CPU because a call of the driver failed"),
  GPU_LOST_BATCHES("gpu.lostBatches", Unit.COUNT, "batches, and sorts, left to the CPU because the GPU was lost"),
  GPU_CACHE_OUTPUTS("gpu.cacheOutputs", Unit.COUNT,
      "map outputs of which a copy was made in the GPU's memory (spark.sluice.gpu.cache.limit)"),
  GPU_CACHE_OUTPUT_BYTES("gpu.cacheOutputBytes", Unit.BYTES, "bytes of those copies"),
  GPU_CACHE_HITS("gpu.cacheHits", Unit.COUNT, "reads served from the GPU's memory"),
  GPU_CACHE_HIT_BYTES("gpu.cacheHitBytes", Unit.BYTES, "bytes of those reads"),
  GPU_CACHE_MISSES("gpu.cacheMisses", Unit.COUNT,
      "reads that were to be served from the GPU's memory, and were served from the host's copy"),
  GPU_CACHE_EVICTIONS("gpu.cacheEvictions", Unit.COUNT, "copies dropped to make room for others"),
  GPU_CACHE_PRESSURE_DROPS("gpu.cachePressureDrops", Unit.COUNT,
      "copies dropped because a batch needed the GPU's memory"),
  GPU_CACHE_ENDED("gpu.cacheEnded", Unit.COUNT, "copies dropped because their shuffle had ended"),
  GPU_CACHE_REFUSED_BY_LIMIT("gpu.cacheRefusedByLimit", Unit.COUNT,
      "map outputs of which no copy was made because spark.sluice.gpu.cache.limit has no room beside copies in use"),
  GPU_CACHE_REFUSED_BY_MEMORY("gpu.cacheRefusedByMemory", Unit.COUNT,
      "map outputs of which no copy was made because the GPU's memory had no room"),
  GPU_CACHE_BUSY("gpu.cacheBusy", Unit.COUNT,
      "map outputs of which no copy was made because as many as spark.sluice.gpu.pinned.limit permits were being "
          + "encoded or copied"),
  GPU_CACHE_FAILED("gpu.cacheFailed", Unit.COUNT,
      "map outputs of which no copy was made because their file could not be read or a call of the driver failed"),
  GPU_CACHE_DAMAGED("gpu.cacheDamaged", Unit.COUNT,
      "copies dropped because a check of their frames failed; the host's copy was read"),
  GPU_CACHE_LOST("gpu.cacheLost", Unit.COUNT, "copies lost with the GPU; the host's copies are there");

  /** The unit of a counter. */
  public enum Unit { COUNT, BYTES, NANOS }

  private final String id;
  private final Unit unit;
  private final String label;

  Counter(String id, Unit unit, String label) {
    this.id = id;
    this.unit = unit;
    this.label = label;
  }

  /** The name of the Spark metric. */
  public String id() {
    return id;
  }

  public Unit unit() {
    return unit;
  }

  /** One line for people. */
  public String label() {
    return label;
  }
}
