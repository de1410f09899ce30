package io.sluice.spark.metrics;

/**
 * Everything Sluice counts, declared once. The values live in {@link Counters}; the plugin registers each as a
 * Spark metric under its {@link #id}.
 */
public enum Counter {
  SHUFFLES_ROWS("shuffles.rows", Unit.COUNT, "shuffles registered on the rows path"),
  SHUFFLES_RECORDS("shuffles.records", Unit.COUNT, "shuffles registered on the records path"),
  SHUFFLES_SPARK_CODEC("shuffles.sparkCodec", Unit.COUNT,
      "shuffles in Spark's own format, because spark.sluice.codec is spark"),
  SHUFFLES_STOCK("shuffles.stock", Unit.COUNT, "shuffles that fell back to Spark's own sort shuffle"),

  EXECUTORS_WITHOUT_NATIVE_LIBRARY("executors.withoutNativeLibrary", Unit.COUNT,
      "executors that cannot use the native library: they read and write frames in Java"),

  WRITE_MAP_OUTPUTS("write.mapOutputs", Unit.COUNT, "map outputs committed"),
  WRITE_RECORDS("write.records", Unit.COUNT, "rows written"),
  WRITE_RECORDS_SERIALIZED("write.recordsSerialized", Unit.COUNT,
      "of those, records that went through the shuffle's own serializer"),
  WRITE_ROW_BYTES("write.rowBytes", Unit.BYTES, "bytes of those rows before encoding"),
  WRITE_BLOCK_BYTES("write.blockBytes", Unit.BYTES, "bytes committed to data files"),
  WRITE_BATCHES_BY_TASK("write.batchesByTask", Unit.COUNT, "batches encoded by the task thread itself"),
  WRITE_BATCHES_BY_POOL("write.batchesByPool", Unit.COUNT, "batches encoded by an encoder thread"),
  WRITE_ENCODES_ABANDONED("write.encodesAbandoned", Unit.COUNT,
      "encodes still running when their failed task ended; they release their pages themselves"),
  WRITE_SPILLS("write.spills", Unit.COUNT, "times that the encoded rows of a task were moved to a spill file"),
  WRITE_SPILLED_BYTES("write.spilledBytes", Unit.BYTES, "bytes written to spill files"),
  WRITE_ROWS_TO_FILES("write.rowsToFiles", Unit.COUNT,
      "long rows written to spill files as they are, because there was no memory to encode them"),
  WRITE_DIRECTORY_RETRIES("write.directoryRetries", Unit.COUNT,
      "times that a full or unwritable local directory made a writer try the next one"),
  WRITE_ENCODE_NANOS("write.encodeNanos", Unit.NANOS, "time spent encoding, over all threads"),
  WRITE_COMMIT_NANOS("write.commitNanos", Unit.NANOS, "time spent writing data files"),

  CACHE_UNAVAILABLE("cache.unavailable", Unit.COUNT,
      "executors that should keep map outputs in memory and cannot: they write files"),
  CACHE_OUTPUTS("cache.outputs", Unit.COUNT, "map outputs committed to memory"),
  CACHE_BYTES("cache.bytes", Unit.BYTES, "bytes of those"),
  CACHE_REFUSALS("cache.refusals", Unit.COUNT,
      "map outputs written to the disk at once, because memory had no room or could not be written"),
  CACHE_MOVES("cache.moves", Unit.COUNT, "map outputs moved from memory to the disk"),
  CACHE_MOVED_BYTES("cache.movedBytes", Unit.BYTES, "bytes of those"),
  CACHE_MOVE_FAILURES("cache.moveFailures", Unit.COUNT,
      "times that no local directory could take an output from memory"),

  READ_LOCAL_BLOCKS("read.localBlocks", Unit.COUNT, "blocks opened as files of this host"),
  READ_REMOTE_BLOCKS("read.remoteBlocks", Unit.COUNT, "blocks that Spark's fetch iterator brought"),
  READ_FRAMES("read.frames", Unit.COUNT, "frames verified and decoded"),
  READ_RECORDS("read.records", Unit.COUNT, "rows decoded"),
  READ_ENCODED_BYTES("read.encodedBytes", Unit.BYTES, "bytes of frames decoded"),
  READ_DECODED_BYTES("read.decodedBytes", Unit.BYTES, "bytes of rows that came out"),
  READ_PARTITIONS_SORTED_AS_ROWS("read.partitionsSortedAsRows", Unit.COUNT,
      "reduce tasks that sorted records by numbers made of their keys"),
  READ_PARTITIONS_SORTED_BY_SPARK("read.partitionsSortedBySpark", Unit.COUNT,
      "of those, tasks whose rows went to Spark's sorter, which can spill, because memory had no room"),
  READ_PARTITIONS_SORTED_AS_OBJECTS("read.partitionsSortedAsObjects", Unit.COUNT,
      "reduce tasks that sorted records as objects: an unknown order, a key without a number, or combined records"),
  READ_FRAMES_BY_TASK("read.framesByTask", Unit.COUNT, "frames decoded by the task thread itself"),
  READ_FRAMES_BY_POOL("read.framesByPool", Unit.COUNT, "frames decoded by a decoder thread"),
  READ_DECODE_NANOS("read.decodeNanos", Unit.NANOS, "time spent decoding, over all threads"),
  READ_CORRUPT_FRAMES("read.corruptFrames", Unit.COUNT, "frames that failed verification"),
  READ_FETCH_FAILURES("read.fetchFailures", Unit.COUNT, "fetch failures reported to the scheduler"),
  READ_LEFT_TO_CONSUMER("read.leftToConsumer", Unit.COUNT,
      "readers whose consumer, on another thread than the task's, still fetched or decoded when the task ended: it "
          + "frees their memory"),

  TRANSPORT_UNAVAILABLE("transport.unavailable", Unit.COUNT,
      "executors that should read one-sidedly and cannot use UCX or the native library: blocks travel by Spark's block "
          + "transfer"),
  TRANSPORT_PUBLISHED("transport.published", Unit.COUNT, "map outputs made readable for peers"),
  TRANSPORT_PUBLISH_FAILURES("transport.publishFailures", Unit.COUNT,
      "map outputs that could not be; their blocks travel by Spark's block transfer"),
  TRANSPORT_PEERS_ANNOUNCED("transport.peersAnnounced", Unit.COUNT,
      "executors that were announced as readable one-sidedly"),
  TRANSPORT_PEERS_CONNECTED("transport.peersConnected", Unit.COUNT, "connections to executors begun, again or anew"),
  TRANSPORT_PEER_FAILURES("transport.peerFailures", Unit.COUNT, "times that an executor could not be read one-sidedly"),
  TRANSPORT_BLOCKS("transport.blocks", Unit.COUNT, "blocks read one-sidedly"),
  TRANSPORT_BYTES("transport.bytes", Unit.BYTES, "bytes of those blocks"),
  TRANSPORT_CMA_BYTES("transport.cmaBytes", Unit.BYTES,
      "bytes read by system calls, out of the memory of executors of the same machine"),
  TRANSPORT_NETTY_UNKNOWN_PEER("transport.nettyUnknownPeer", Unit.COUNT,
      "blocks left to Spark's block transfer because their executor had not announced itself"),
  TRANSPORT_NETTY_PEER_FAILED("transport.nettyPeerFailed", Unit.COUNT,
      "blocks left to Spark's block transfer because their executor had failed"),
  TRANSPORT_NETTY_TIMEOUT("transport.nettyTimeout", Unit.COUNT,
      "blocks left to Spark's block transfer because they took too long"),
  TRANSPORT_NETTY_NOT_FOUND("transport.nettyNotFound", Unit.COUNT,
      "blocks left to Spark's block transfer because their executor had not published them"),
  TRANSPORT_NETTY_PEER_BUSY("transport.nettyPeerBusy", Unit.COUNT,
      "blocks left to Spark's block transfer because their executor had reached a limit of mapped map outputs "
          + "(spark.sluice.transport.maxMappedBytes, maxMappedRegions), of open questions or of disk jobs, or its disk "
          + "did not answer in time"),
  TRANSPORT_NETTY_NO_MEMORY("transport.nettyNoMemory", Unit.COUNT,
      "blocks left to Spark's block transfer because there was no memory to receive them"),
  TRANSPORT_NETTY_TO_DISK("transport.nettyToDisk", Unit.COUNT,
      "blocks left to Spark's block transfer because it fetches them to the disk"),
  TRANSPORT_NETTY_OTHER("transport.nettyOther", Unit.COUNT,
      "blocks left to Spark's block transfer for another reason: an error, or the transport was stopped"),

  MEMORY_REFUSALS("memory.refusals", Unit.COUNT, "requests that the budget could not grant at once"),
  MEMORY_WAITS("memory.waits", Unit.COUNT, "times that a task waited for memory"),
  MEMORY_WAIT_NANOS("memory.waitNanos", Unit.NANOS, "time that tasks waited for memory"),
  MEMORY_TIMEOUTS("memory.timeouts", Unit.COUNT, "waits for memory that ended in an error"),
  MEMORY_BEYOND_LIMIT("memory.beyondLimit", Unit.COUNT,
      "times that a task alone took more than the limit, for rows that do not fit it"),
  MEMORY_LEAKED_LEASES("memory.leakedLeases", Unit.COUNT, "leases still open when their task ended"),
  MEMORY_LEAKED_BYTES("memory.leakedBytes", Unit.BYTES, "bytes of those leases and reservations");

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
