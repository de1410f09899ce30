package io.sluice.spark.migration;

import static io.sluice.spark.migration.Project.ENVIRONMENT;
import static io.sluice.spark.migration.Project.RAPIDS;
import static io.sluice.spark.migration.Project.SPARK;
import static io.sluice.spark.migration.Project.SPARK_RDMA;
import static io.sluice.spark.migration.Project.SPARK_UCX;
import static io.sluice.spark.migration.Project.UCX;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What becomes of every setting of the predecessors. {@link MigrationReference} prints {@code docs/migration.md} from
 * it, {@link Translation} applies it to a file; a test holds it complete.
 */
final class MigrationTable {
  private static final String CACHE_LIMIT = "spark.sluice.cache.hostLimit";
  private static final String MAX_IN_FLIGHT = "spark.reducer.maxSizeInFlight";

  private static final String GPU_MEMORY =
      "Device memory of RAPIDS' SQL plugin, which still reads it. Sluice's is spark.sluice.gpu.memory.limit, none by "
          + "default.";
  private static final String HOST_MEMORY =
      "Host memory of RAPIDS' SQL plugin, which still reads it. Sluice's own is spark.sluice.memory.limit.";
  private static final String KUDO =
      "How RAPIDS' SQL plugin serializes batches, with any shuffle manager; it still reads it.";
  private static final String BOUNCE_BUFFERS =
      "A reader's memory is leased for each batch of blocks and filled in place: no bytes pass through bounce buffers.";
  private static final String RECEIVE_BUFFERS =
      "Memory for received blocks comes from an arena, which is registered in regions of 64 MiB and reused.";
  private static final String ONE_AGENT =
      "One native thread of each executor sends and answers, with helpers for disks and large copies.";
  private static final String UCX_PORT =
      "UCX listens on ports of its own. spark.executorEnv.UCX_TCP_PORT_RANGE=FIRST-LAST names a range for TCP, with a "
          + "port for each executor of a machine.";
  private static final String QUEUES =
      "Queues are UCX's and need no change: a reader limits how many reads are under way.";
  private static final String LOCATIONS =
      "Readers ask the owner of a map output where its blocks are. No table of locations is sent to or kept by the "
          + "driver, beside Spark's own map statuses.";
  private static final String CONNECTING =
      "spark.sluice.transport.timeout limits how long a reader waits, spark.sluice.transport.retryDelay says when an "
          + "executor is tried again. Meanwhile its blocks come by Netty.";
  private static final String PAGING = "UCX uses on-demand paging where the card has it.";
  private static final String SENDS =
      "Concerns messages that the sender pushes. Blocks are one-sided reads.";

  private static final List<Mapping> ALL = Stream.of(rapidsModes(), rapidsTransport(), rapidsFormat(), rapidsMemory(),
      sparkRdma(), sparkUcx(), ucx(), spark(), environment()).map(MappingGroup::mappings).flatMap(List::stream)
      .toList();
  private static final Map<String, Mapping> BY_KEY = ALL.stream().filter(mapping -> mapping.project() != ENVIRONMENT)
      .collect(Collectors.toMap(Mapping::key, Function.identity()));

  private MigrationTable() {}

  /** In the order of the page. */
  static List<Mapping> all() {
    return ALL;
  }

  /** What becomes of a line that sets {@code key}. */
  static Optional<Mapping> of(String key) {
    return Optional.ofNullable(BY_KEY.get(key));
  }

  private static MappingGroup rapidsModes() {
    return new MappingGroup(RAPIDS, "spark.rapids.shuffle.")
        .to("enabled", "spark.sluice.enabled", Conversion.SAME,
            "A session can change it too: the shuffles that it registers from then on are Spark's.")
        .to("mode", "spark.sluice.mode", Conversion.SAME,
            "The modes have the same names. The default is MULTITHREADED; up to RAPIDS 22.12 it was UCX.")
        .to("transport.enabled", "spark.sluice.mode", Conversion.UCX_OR_NOT,
            "Of RAPIDS up to 22.06. true becomes UCX, false MULTITHREADED.")
        .to("multiThreaded.writer.threads", "spark.sluice.writer.threads", Conversion.POOL_THREADS,
            "1 becomes 0: each task's thread encodes its own rows. 0, with which RAPIDS used Spark's writer, stays 0. "
                + "More than 256 is refused.")
        .to("multiThreaded.reader.threads", "spark.sluice.reader.threads", Conversion.POOL_THREADS,
            "1 becomes 0: each task's thread decodes its own blocks. 0, with which RAPIDS used Spark's reader, stays "
                + "0. More than 256 is refused.")
        .to("multiThreaded.maxBytesInFlight", "spark.sluice.reader.maxBytesInFlight", Conversion.SAME,
            "The same limit of one task, with the same default: a block that is larger is decoded alone. So that "
                + "memory does not grow with cores, all tasks of an executor together are limited by "
                + "spark.sluice.memory.limit, map tasks too.")
        .notNeeded(
            "A map output is one file, written once; with spark.sluice.store=cache it is not written at all while "
                + "there is memory. The external shuffle service works with files.",
            "multithreaded.skipMerge");
  }

  private static MappingGroup rapidsTransport() {
    return new MappingGroup(RAPIDS, "spark.rapids.shuffle.")
        .to("transport.earlyStart", "spark.sluice.transport.earlyStart", Conversion.SAME,
            "Connects executors when they announce themselves. RAPIDS' default is true; without it an executor is "
                + "connected when its blocks are first wanted.")
        .to("transport.earlyStart.heartbeatInterval", "spark.sluice.transport.heartbeatInterval",
            Conversion.MILLISECONDS, "The same default. Less than 500 and more than 30000 are refused.")
        .to("transport.earlyStart.heartbeatTimeout", "spark.sluice.transport.heartbeatTimeout",
            Conversion.MILLISECONDS,
            "RAPIDS' default is 10 seconds, Sluice's a minute. Less than twice the interval is refused.")
        .to("transport.maxReceiveInflightBytes", "spark.sluice.transport.maxReceiveBytes", Conversion.SAME,
            "The limit of an executor. RAPIDS' default is 1g; without it, it is three times "
                + "spark.reducer.maxSizeInFlight for each task, and in a container at most a share of its memory. "
                + "Blocks beyond it wait for memory, and come by Netty after a tenth of "
                + "spark.sluice.transport.timeout. Less than 16m is refused.")
        .notNeeded("There is one transport, UCX, chosen by spark.sluice.transport.", "transport.class")
        .notNeeded(BOUNCE_BUFFERS, "ucx.bounceBuffers.size", "ucx.bounceBuffers.device.count",
            "ucx.bounceBuffers.host.count")
        .notNeeded("The transport's thread sleeps until UCX has something for it.", "ucx.useWakeup")
        .notNeeded(SENDS, "ucx.activeMessages.forceRndv", "ucx.activeMessages.mode")
        .notNeeded("Always on: a dead peer is an error of its connection, and its blocks come by Netty.",
            "ucx.peerErrorHandling.enabled")
        .notNeeded(UCX_PORT, "ucx.listenerStartPort", "ucx.listener.enabled")
        .notNeeded("There is no such server: executors learn each other's addresses from Spark's driver.",
            "ucx.managementServerHost")
        .notNeeded(CONNECTING, "ucx.managementConnectionTimeout")
        .notNeeded(ONE_AGENT, "maxClientThreads", "maxClientTasks", "clientThreadKeepAlive", "maxServerTasks")
        .notNeeded("Messages say where blocks are, are small, and are sent for batches of blocks.", "maxMetadataSize");
  }

  private static MappingGroup rapidsFormat() {
    return new MappingGroup(RAPIDS, "spark.rapids.shuffle.")
        .notNeeded("Frames are compressed on the CPU by spark.io.compression.codec (lz4, zstd, snappy), where "
            + "spark.sluice.codec.level finds that it pays.", "compression.codec")
        .notNeeded("Long byte columns of a frame are compressed, each as a whole. A frame holds some 160 KiB of rows.",
            "compression.lz4.chunkSize", "compression.zstd.chunkSize", "compression.maxBatchMemory")
        .stays(KUDO, "kudo.serializer.enabled", "kudo.serializer.mode", "kudo.serializer.write.mode",
            "kudo.serializer.read.mode", "kudo.serializer.measure.buffer.copy.enabled", "kudo.serializer.debug.mode",
            "kudo.serializer.debug.dump.path.prefix")
        .stays("How RAPIDS' SQL plugin cuts batches for any shuffle manager; it still reads it.",
            "partitioning.maxCpuBatchSize");
  }

  private static MappingGroup rapidsMemory() {
    return new MappingGroup(RAPIDS, "spark.rapids.memory.")
        .stays(
            "How much host memory RAPIDS' SQL plugin spills GPU data to, which it still reads. In mode UCX it held map "
                + "outputs too: for those set spark.sluice.cache.hostLimit.",
            "host.spillStorageSize")
        .stays("Pinned host memory of RAPIDS' SQL plugin, which still reads it. Sluice pins what an RDMA device "
            + "registers, within spark.sluice.transport.maxMappedBytes, and with spark.sluice.gpu within "
            + "spark.sluice.gpu.pinned.limit and spark.sluice.gpu.pages.limit.",
            "pinnedPool.size", "pinnedPool.setCuioDefault")
        .stays(HOST_MEMORY, "host.pageablePool.size", "host.offHeapLimit.enabled", "host.offHeapLimit.size",
            "host.taskOverhead.size", "host.spillToDiskBounceBufferSize", "host.spillToDiskBounceBuffers")
        .notNeeded(
            "Encoded rows of a map task are kept within spark.sluice.memory.limit and spilled beyond it; no buffer "
                + "is sized beforehand.",
            "host.partialFileBufferInitialSize", "host.partialFileBufferMaxSize",
            "host.partialFileBufferMemoryThreshold")
        .stays(
            "The allocator of device memory (pool, arena, asynchronous), for RAPIDS' SQL plugin, which still reads it. "
                + "Sluice's memory, a GPU's too (spark.sluice.gpu.memory.limit), is from arenas with nothing to choose "
                + "(docs/decisions/0010, 0030).",
            "gpu.pool", "gpu.pooling.enabled")
        .stays(GPU_MEMORY, "gpu.allocFraction", "gpu.allocSize", "gpu.minAllocFraction", "gpu.maxAllocFraction",
            "gpu.reserve", "gpu.debug", "gpu.state.debug", "gpu.state.enable", "gpu.oomDumpDir", "gpu.oomMaxRetries",
            "gpu.unspill.enabled", "gpu.spillAsyncStart", "gpu.spillAsyncStop", "uvm.enabled",
            "integratedGpuMemoryFraction")
        .stays("GPUDirect Storage of RAPIDS' SQL plugin, which still reads it. Sluice spills host memory.",
            "gpu.direct.storage.spill.enabled", "gpu.direct.storage.spill.batchWriteBuffer.size",
            "gpu.direct.storage.spill.alignedIO", "gpu.direct.storage.spill.alignmentThreshold");
  }

  private static MappingGroup sparkRdma() {
    return new MappingGroup(SPARK_RDMA, "spark.shuffle.rdma.")
        .to("maxBytesInFlight", MAX_IN_FLIGHT, Conversion.MEBIBYTES,
            "The same limit of one task. A number without a unit was bytes, and is MiB for Spark: it gets a unit.")
        .to("shuffleWriteMaxInMemoryStoragePerExecutor", CACHE_LIMIT, Conversion.SAME,
            "Of SparkRDMA 1.0. It has an effect with spark.sluice.store=cache (or spark.sluice.mode=UCX).")
        .notNeeded(
            "Of SparkRDMA 1.0. Its Wrapper, map output in Spark's files, is what mode RDMA does. For map output in "
                + "memory, as its ChunkedPartitionAgg, set spark.sluice.mode=UCX.",
            "shuffleWriterMethod")
        .notNeeded("Of SparkRDMA 1.0. Rows are collected in pages (spark.sluice.writer.pageBytes).",
            "shuffleWriteChunkSize", "shuffleWriteFlushSize")
        .notNeeded(QUEUES, "recvQueueDepth", "sendQueueDepth", "recvWrSize")
        .notNeeded(
            "A reader limits how many reads are under way, and a read needs no receive buffer of the other side.",
            "swFlowControl")
        .notNeeded(
            "Received blocks are limited by spark.reducer.maxSizeInFlight, to at most three times that per task; "
                + "mapped and registered files by spark.sluice.transport.maxMappedBytes.",
            "maxBufferAllocationSize")
        .notNeeded(RECEIVE_BUFFERS, "preAllocateBuffers", "maxAggPrealloc")
        .notNeeded("Blocks of one executor are read in batches, to their final places; no size has to be chosen.",
            "shuffleReadBlockSize", "maxAggBlock")
        .notNeeded(
            "Files are mapped and registered in chunks of 4 MiB (64 KiB for a first small block) as they are read; "
                + "spark.sluice.transport.maxMappedBytes and maxMappedRegions limit how many at once.",
            "shuffleWriteBlockSize")
        .notNeeded(PAGING + " Without it, what is registered at once is limited by "
            + "spark.sluice.transport.maxMappedBytes.", "useOdp")
        .notNeeded("It named the device whose statistics were collected. Which device UCX uses, "
            + "spark.executorEnv.UCX_NET_DEVICES says.", "device.num")
        .notSupported("There is no list of CPUs. SparkRDMA had a completion thread for each connection; Sluice has one "
            + "native thread for each executor, which the kernel places. To keep an executor near its card, start it "
            + "by numactl --cpunodebind, or by the container's cpuset.", "cpuList")
        .notNeeded(
            "How long fetched blocks take is always kept, for all executors and for each: the metrics read.fetch… "
                + "(docs/metrics.md), and a line in an executor's log when it ends.",
            "collectShuffleReaderStats")
        .notNeeded("Its buckets are fixed: ten for each power of ten, from 10 µs to 100 s.",
            "fetchTimeBucketSizeInMs", "fetchTimeNumBuckets")
        .notNeeded(
            "SparkRDMA printed counters of the card's driver (/sys/class/infiniband_verbs), which are still there.",
            "collectOdpStats")
        .notNeeded(
            LOCATIONS + " How long a reader waits for an answer, spark.sluice.transport.timeout says; after that "
                + "blocks come by Netty.",
            "partitionLocationFetchTimeout")
        .notNeeded(UCX_PORT, "driverPort", "executorPort")
        .notNeeded(CONNECTING, "rdmaCmEventTimeout", "teardownListenTimeout", "resolvePathTimeout",
            "maxConnectionAttempts");
  }

  private static MappingGroup sparkUcx() {
    return new MappingGroup(SPARK_UCX, "spark.shuffle.ucx.")
        .notNeeded(
            "The driver has no part in the transport: executors learn each other's addresses from Spark's plugin.",
            "driver.host", "driver.port")
        .notNeeded(UCX_PORT, "listener.sockaddr")
        .notNeeded(LOCATIONS, "rkeySize", "rpc.metadata.bufferSize", "maxWorkerSize", "rpcMessageSize")
        .notNeeded(RECEIVE_BUFFERS, "memory.preAllocateBuffers", "memory.minBufferSize", "memory.minAllocationSize",
            "memory.preregister")
        .notNeeded(PAGING, "memory.useOdp")
        .notSupported(
            "Map outputs are never registered as a whole: spark.sluice.transport.maxMappedBytes limits what is "
                + "mapped and registered at once.",
            "memoryPinning")
        .notNeeded("Blocks are always one-sided reads.", "protocol")
        .notNeeded("The transport's thread sleeps until UCX has something for it.", "useWakeup")
        .notNeeded(SENDS, "recvQueueSize")
        .notNeeded(ONE_AGENT, "numIoThreads", "numListenerThreads", "numClientWorkers")
        .notNeeded("A question is about as many blocks as Spark's reader wants of an executor "
            + "(spark.reducer.maxBlocksInFlightPerAddress).", "maxBlocksPerRequest");
  }

  private static MappingGroup ucx() {
    return new MappingGroup(UCX, "spark.executorEnv.UCX_")
        .to("TLS", "spark.executorEnv.UCX_TLS", Conversion.WITHOUT_CUDA,
            "Names of GPU memory (cuda_copy, cuda_ipc) are left out; sm, reads within a machine, takes the place of "
                + "cuda_ipc. A list without such names stays. Best is none: UCX then chooses.")
        .notNeeded("Sluice sets it before it opens UCX, unless the environment says otherwise.", "ERROR_SIGNALS")
        .notNeeded("Sluice tells UCX so, unless the environment says otherwise.", "MEMTYPE_CACHE")
        .notNeeded("Concerns large two-sided messages. Blocks are one-sided reads, whose number of cards is "
            + "UCX_MAX_RMA_RAILS.", "RNDV_SCHEME", "MAX_RNDV_RAILS")
        .notNeeded("UCX's default, 4096, is longer than the 1024 that older guides set.", "IB_RX_QUEUE_LEN")
        .notNeeded(
            "Blocks that executors read from each other are in host memory or files, whether a GPU encoded them or "
                + "not.",
            "IB_GPU_DIRECT_RDMA")
        .stays("UCX reads it. Set it only where idle TCP connections break (docs/deployment/ucx.md).", "TCP_KEEPINTVL")
        .stays("UCX reads it: the cards or interfaces to use.", "NET_DEVICES");
  }

  private static MappingGroup spark() {
    return new MappingGroup(SPARK, "spark.")
        .notNeeded(value -> value.contains("Ucx"),
            "SparkUCX needed a class of its own there. With it shuffles would fall "
                + "back; with any other class that is not Spark's default they do too.",
            "shuffle.sort.io.plugin.class")
        .stays("The external shuffle service may be on, if there is one. With it map output is kept in files.",
            "shuffle.service.enabled")
        .stays("Dynamic allocation may be on, as with Spark's own shuffle.", "dynamicAllocation.enabled")
        .stays(
            "Sluice's jar takes the place of the predecessor's. RAPIDS' jar stays if its SQL plugin does. Spark 4 "
                + "takes Sluice's jar from spark.jars or --jars too.",
            "driver.extraClassPath", "executor.extraClassPath")
        .stays(
            "io.netty.maxDirectMemory limits what Netty receives; blocks that are read one-sidedly are not part of it.",
            "executor.extraJavaOptions")
        .stays("Sluice removes map outputs when Spark does, which is after a garbage collection on the driver; "
            + "those of SQL executions whose plan nobody can run again when the execution ends "
            + "(spark.sluice.sql.cleanup).",
            "cleaner.periodicGC.interval")
        .stays("SparkRDMA's guide says false. Rows are then written as they are (level plain). Remove the line: "
            + "Sluice compresses only what shrinks, and the network carries less.", "shuffle.compress")
        .stays("Sorts and maps that spill use Spark's own spill files, which honour it. Spills of map tasks follow "
            + "spark.shuffle.compress, as they do with Spark's own writers.", "shuffle.spill.compress")
        .stays("The guides mean spark.sql.shuffle.partitions. Sluice's writer is one for every number of partitions.",
            "shuffle.partitions")
        .stays("Of Spark's own ports. UCX's are named by UCX_TCP_PORT_RANGE.", "port.maxRetries")
        .stays("May be on, its default: executors of a machine then open each other's files.",
            "shuffle.readHostLocalDisk");
  }

  private static MappingGroup environment() {
    return new MappingGroup(ENVIRONMENT, "")
        .stays(
            "Options with which RAPIDS' libraries are compiled: a CUDA stream for each thread. Sluice's own "
                + "work on GPUs (spark.sluice.gpu) has one for each thread in any case.",
            "--default-stream per-thread", "CUDA_API_PER_THREAD_DEFAULT_STREAM")
        .stays(
            "A folder in memory for shuffle files is not needed: spark.sluice.mode=UCX or CACHE_ONLY keeps map output "
                + "in memory, within a limit.",
            "SPARK_LOCAL_DIRS=/dev/shm/…")
        .stays("Not needed for UCX: spark.sluice.ucx.library names a UCX that the loader does not find.",
            "LD_LIBRARY_PATH")
        .stays("Java's library path was for SparkRDMA's libdisni.so. Sluice's library is in its jar.",
            "java.library.path");
  }
}
