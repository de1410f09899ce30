package io.sluice.spark.conf;

import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;

/** Every {@code spark.sluice.*} option there is. */
public final class SluiceSettings {
  /** All keys start with it. */
  public static final String PREFIX = "spark.sluice.";

  public static final Setting<Boolean> ENABLED = Setting.flag("spark.sluice.enabled", true, true,
      "Whether shuffles that are registered from now on may use Sluice. With false they are Spark's altogether: its "
          + "writer and reader, its block transfer, and no removal by spark.sluice.sql.cleanup. A session can change "
          + "it at run time; shuffles that are registered already keep their format, and their blocks travel as "
          + "before.");

  public static final Setting<Boolean> RECORDS_ENABLED = Setting.flag("spark.sluice.records.enabled", true, false,
      "Whether shuffles of RDDs may use Sluice too. With false they use Spark's sort shuffle, and only shuffles of SQL "
          + "rows use Sluice.");

  public static final Setting<Boolean> RECORDS_GUESS_ORDER = Setting.flag(
      "spark.sluice.records.guessOrder", true, false,
      "Whether shuffles of RDDs that sort by a comparator unknown to Sluice guess its order, from its answers for some "
          + "keys. Records are sorted by the guess, and the comparator is then asked only whether neighbours are in "
          + "order; if some are not, records are sorted with it as Spark does. Range partitioners are treated "
          + "likewise. Set it to false for a comparator that does more than compare, such as counting its calls.");

  public static final Setting<Boolean> SQL_SORT = Setting.flag("spark.sluice.sql.sort", true, true,
      "Whether sorts in SQL plans may be Sluice's, which are then shown as SluiceSort. With false they are Spark's. A "
          + "session can change it at run time for the plans that it makes from then on. It needs spark.plugins, and "
          + "has no effect with spark.sluice.enabled=false or spark.sluice.sql.exchange=false.");

  public static final Setting<Boolean> SQL_EXCHANGE = Setting.flag("spark.sluice.sql.exchange", true, true,
      "Whether exchanges in SQL plans may get the partitions of their rows from Sluice; their input is then shown as "
          + "SluicePartitions. With false, Sluice leaves SQL plans alone, sorts too: Spark's expressions find the "
          + "partitions, row by row, and only how shuffles are written and read is Sluice's. A session can change it "
          + "at run time for the plans that it makes from then on, but only if it was not false when the application "
          + "started. It needs spark.plugins, and has no effect with spark.sluice.enabled=false.");

  public static final Setting<Boolean> COMET = Setting.flag("spark.sluice.comet", true, true,
      "Whether DataFusion Comet 0.12 puts its exchanges into plans, which Sluice then carries: batches of columns are "
          + "written as frames and read as batches. With false, or with another Comet, Comet's operators run between "
          + "exchanges of rows. A session can change it at run time for the plans that it makes from then on. It needs "
          + "spark.plugins with Comet's plugin in it, and has no effect with spark.sluice.enabled=false or "
          + "spark.sluice.sql.exchange=false.");

  public static final Setting<Boolean> COLUMNAR = Setting.flag("spark.sluice.columnar", true, true,
      "Whether the rows of an exchange that lie in batches of columns are written from them, without being made "
          + "rows before: where a vectorised scan, a cached table or another columnar operator is directly below an "
          + "exchange that hashes columns, divides by ranges of columns or has one partition, and all columns have "
          + "atomic types. And whether a columnar operator directly above an exchange of such columns, which another "
          + "extension has put there, is given batches that are decoded from frames, without rows in between (not with "
          + "spark.sql.columnVector.offheap.enabled). "
          + "With false, Spark makes rows of batches, and batches of rows. The written bytes are the same. A session "
          + "can change it at run time for the plans that it makes from then on. It needs spark.plugins, and has no "
          + "effect with spark.sluice.enabled=false or spark.sluice.sql.exchange=false.");

  public static final Setting<SqlCleanup> SQL_CLEANUP = Setting.choice(
      "spark.sluice.sql.cleanup", SqlCleanup.class, SqlCleanup.UNREFERENCED, Locale.ROOT, true,
      "Which shuffles of a SQL execution are removed when it ends: files, memory and what other executors find them "
          + "by, on all executors, within ten seconds. off: none; Spark removes a shuffle after a garbage collection "
          + "in the driver has found that nothing refers to it. unreferenced: shuffles of plans that Spark makes for "
          + "one execution and that nobody can run again: those of count, show, take, first, head, tail, isEmpty, of "
          + "commands (writes, INSERT, CREATE TABLE AS SELECT), of statements in the spark-sql shell, of what clients "
          + "of Spark Connect fetch, and of a stream's batches except with foreachBatch and sinks that Spark does not "
          + "have itself; not those of collect, toPandas and other actions, which run the plan of the Dataset, and "
          + "would run it again. all: the shuffles of every execution, except "
          + "toLocalIterator and checkpoints, as Spark 4.1 does with "
          + "spark.sql.classic.shuffleDependency.fileCleanup.enabled: an action that runs the same Dataset again "
          + "computes its shuffles again. Shuffles that cached tables or RDDs made are never removed so. A session can "
          + "change it for the executions that it starts from then on. It needs spark.plugins, and has no effect with "
          + "spark.shuffle.useOldFetchProtocol.");

  public static final Setting<Mode> MODE = Setting.choice("spark.sluice.mode", Mode.class, Mode.MULTITHREADED, null,
      "A preset of spark.sluice.codec, spark.sluice.store and spark.sluice.transport; each of these that is set itself "
          + "takes precedence over it. MULTITHREADED is codec=sluice, store=files and transport=netty; UCX is "
          + "codec=sluice, store=cache and transport=ucx; RDMA is codec=spark, store=files and transport=ucx; "
          + "CACHE_ONLY, for applications of one executor, is codec=sluice, store=cache and transport=netty.");

  public static final Setting<Codec> CODEC = Setting.choice(
      "spark.sluice.codec", Codec.class, Codec.SLUICE, Locale.ROOT,
      "The format of shuffle blocks. With sluice, shuffles that Sluice supports are written as Sluice's frames. With "
          + "spark every shuffle keeps Spark's own format and Spark's own writers, so that only the transport is "
          + "Sluice's.");

  public static final Setting<Store> STORE = Setting.choice(
      "spark.sluice.store", Store.class, Store.FILES, Locale.ROOT,
      "Where map outputs are kept. files: in Spark's data files. cache: in memory, as memory files to which Spark's "
          + "data files are symbolic links. When spark.sluice.cache.hostLimit is reached, map outputs are moved from "
          + "memory to the local directories, those first that are least likely to be read soon; those that are read "
          + "again and again come back when there is room. A map output that does not fit is written to a file at "
          + "once. cache needs spark.sluice.codec=sluice. With spark.shuffle.service.enabled or spark.shuffle.sync it "
          + "has no effect: files are used, and a warning is logged.");

  public static final Setting<Long> CACHE_HOST_LIMIT = Setting.bytes("spark.sluice.cache.hostLimit", "1g", "1m", "16t",
      "How many bytes of map output one executor keeps in memory with spark.sluice.store=cache. This memory is outside "
          + "the Java heap and is not part of spark.sluice.memory.limit: add it to spark.executor.memoryOverhead. "
          + "Where the container is known to have less beside what the JVM, shuffles and one-sided reads take, the "
          + "executor keeps as much as there is room for, and logs a warning. A program can change it while it runs, "
          + "by io.sluice.spark.SluiceCache.setHostLimit(\"2g\") on the driver.");

  public static final Setting<Transport> TRANSPORT = Setting.choice(
      "spark.sluice.transport", Transport.class, Transport.NETTY, Locale.ROOT,
      "How blocks are fetched from other executors. netty: by Spark's block transfer. ucx: by one-sided reads, from "
          + "the other executor's map outputs directly into this executor's memory, over RDMA or TCP, and within "
          + "one machine by a system call (process_vm_readv) where the kernel permits it; where UCX cannot be "
          + "opened, a warning gives the reason and blocks are fetched by netty. auto is ucx without that warning. "
          + "A block that cannot be read one-sidedly is always fetched by netty. ucx and auto need spark.plugins, "
          + "through which executors learn each other's addresses. Blocks that are read one-sidedly take about "
          + "spark.reducer.maxSizeInFlight per task of memory outside the Java heap, and never more than three "
          + "times that (spark.sluice.transport.maxReceiveBytes); Spark's block transfer would take as much of "
          + "Netty's memory. Blocks that do not fit within this limit wait for memory, shared fairly among the "
          + "executors that are read; a block that has waited for a tenth of spark.sluice.transport.timeout, or "
          + "while nothing came free for 20 ms, or that would take more than a 64th of the limit and does not fit, "
          + "is fetched by netty.");

  public static final Setting<Long> TRANSPORT_TIMEOUT = Setting.millis(
      "spark.sluice.transport.timeout", "20s", "100ms", "1h",
      "How long an executor may neither answer nor complete a read while this executor waits for an answer or a "
          + "one-sided read from it. After that its blocks are fetched by netty: those already requested at once, "
          + "others for spark.sluice.transport.retryDelay. A slow read is not ended as long as it makes progress.");

  public static final Setting<Long> TRANSPORT_RETRY_DELAY = Setting.millis(
      "spark.sluice.transport.retryDelay", "30s", "100ms", "1h",
      "How long blocks of an executor that could not be read one-sidedly are fetched by netty before it is connected "
          + "again. Each failed attempt doubles the delay, up to 16 times this value. Each delay is longer by a random "
          + "part of up to half of it, so that executors that have all lost each other do not all connect again at "
          + "once. During an attempt the blocks are still fetched by netty.");

  public static final Setting<OptionalLong> TRANSPORT_MAX_RECEIVE_BYTES = Setting.bytesOrAuto(
      "spark.sluice.transport.maxReceiveBytes", "16m", "16t",
      "How many bytes of blocks an executor may have read one-sidedly that its tasks have not taken yet; the memory is "
          + "outside the Java heap. auto is three times spark.reducer.maxSizeInFlight for each task that runs at a "
          + "time, and where the container's memory beyond the heap is known at most its share that "
          + "spark.sluice.memory.limit=auto has too. What happens to blocks that do not fit is said at "
          + "spark.sluice.transport. A value set here is never exceeded; the container must have the memory.");

  public static final Setting<Boolean> TRANSPORT_EARLY_START = Setting.flag(
      "spark.sluice.transport.earlyStart", false, false,
      "Whether an executor connects to other executors as soon as it learns of them, some at a time and to no more "
          + "than half of spark.sluice.transport.maxConnections, so that the first fetch from each need not wait "
          + "for its connection (some milliseconds, more over slow networks). In an application of n executors this "
          + "makes n times n connections. With false an executor is connected when its blocks are first wanted.");

  public static final Setting<Long> TRANSPORT_HEARTBEAT_INTERVAL = Setting.millis(
      "spark.sluice.transport.heartbeatInterval", "5s", "500ms", "30s",
      "How often an executor tells the driver its address for one-sided reads and is told of executors that have come "
          + "or gone. An executor that wants blocks of one that it has not been told of asks the driver at once.");

  public static final Setting<Long> TRANSPORT_HEARTBEAT_TIMEOUT = Setting.millis(
      "spark.sluice.transport.heartbeatTimeout", "1m", "1s", "1h",
      "How long the driver hears no such heartbeat of an executor before it tells the others that it is gone, so that "
          + "they close their connections to it and fetch its blocks by netty; with its next heartbeat it is back. At "
          + "least twice spark.sluice.transport.heartbeatInterval. An executor that Spark's scheduler has lost is gone "
          + "at once.");

  public static final Setting<Long> TRANSPORT_MAX_CONNECTIONS = Setting.count(
      "spark.sluice.transport.maxConnections", "1024", 1, 65_536,
      "The most connections for one-sided reads that an executor has at once: to executors that it reads from, and "
          + "from executors that read from it. When the limit is reached, the least recently used connection is closed "
          + "if nothing is being read over it; if all are in use, blocks are fetched by netty. A connection that is "
          + "idle for two minutes is closed in any case.");

  public static final Setting<Long> TRANSPORT_MAX_MAPPED_BYTES = Setting.bytes(
      "spark.sluice.transport.maxMappedBytes", "2g", "16m", "16t",
      "How many bytes of an executor's map outputs may be mapped and registered at once for other executors to read "
          + "one-sidedly; up to half of it stays mapped while no executor reads it. Mapped pages of the page cache "
          + "take no memory of their own, but an RDMA device without on-demand paging pins them: then they count as "
          + "memory of the executor. Where such a device cannot register pages of files, which an executor tries on "
          + "each file system, parts of files are registered as copies: these count towards the limit and are the "
          + "executor's own memory, which a container's memory limit must hold. Blocks for which there is no "
          + "room within the limit are fetched by netty (counted as transport.nettyPeerBusy). Where a device "
          + "may pin memory and half of the limit of locked memory (ulimit -l) is less than this value, the "
          + "executor uses that half, with a warning.");

  public static final Setting<Long> TRANSPORT_MAX_MAPPED_REGIONS = Setting.count(
      "spark.sluice.transport.maxMappedRegions", "16384", 16, 10_000_000,
      "How many mappings of map outputs (see spark.sluice.transport.maxMappedBytes) an executor may have at once. For "
          + "the first small block that is read in a chunk of a file 64k are mapped, for other blocks the whole chunk "
          + "of 4m. If half of vm.max_map_count is less than this value, the executor uses that half, with a warning.");

  public static final Setting<Boolean> UCX_ALLOW_UNAUTHENTICATED_TCP = Setting.flag(
      "spark.sluice.ucx.allowUnauthenticatedTcp", false, false,
      "Whether UCX may use TCP although spark.authenticate is true. Over TCP UCX checks no secret: any process that "
          + "connects to its port can read and write any address of the executor's process. Set it to true only if no "
          + "hosts but those of this application can reach the executors' ports. With false, blocks of applications "
          + "with spark.authenticate are fetched by netty, unless spark.executorEnv.UCX_TLS permits no TCP.");

  public static final Setting<String> UCX_LIBRARY = Setting.text("spark.sluice.ucx.library",
      "empty, or a path on every machine",
      "Path of libucp.so.0, or of the folder that contains it. If empty, the system's library is used, and where there "
          + "is none the one in the jar, which has no support for RDMA devices.");

  public static final Setting<CodecLevel> CODEC_LEVEL = Setting.choice(
      "spark.sluice.codec.level", CodecLevel.class, CodecLevel.FAST, Locale.ROOT,
      "How much work goes into making frames small. plain writes rows as they are. fast writes columns, and compresses "
          + "long byte columns only where the beginning of the column shrinks by a quarter or more. small compresses "
          + "them already where it shrinks by a sixteenth or more, for slow networks. The compression codec is "
          + "spark.io.compression.codec. With spark.shuffle.compress=false the level is plain.");

  private static final String SPARE_CORES =
      "auto uses the cores that were granted to the executor and that no task's thread occupies at the moment, at most "
          + "8, for as long as that is so: free task slots (known with spark.plugins); where spark.task.cpus is more "
          + "than 1, the cores beyond one per task; where a cgroup has a CPU quota "
          + "(spark.kubernetes.executor.limit.cores), the whole cores of the quota beyond the executor's cores. "
          + "Encoder and decoder threads together never take more. Cores that the process sees but was not granted are "
          + "not used, because they may be in use by other containers. A number is used whatever tasks do.";

  public static final Setting<OptionalLong> WRITER_THREADS = Setting.countOrAuto("spark.sluice.writer.threads", 0, 256,
      "Encoder threads of one executor, shared by its tasks. With 0 each task's own thread encodes its rows. "
          + SPARE_CORES);

  public static final Setting<OptionalLong> READER_THREADS = Setting.countOrAuto("spark.sluice.reader.threads", 0, 256,
      "Decoder threads of one executor, shared by its tasks. With 0 each task's own thread decodes its blocks. "
          + SPARE_CORES);

  public static final Setting<Long> READER_MAX_BYTES_IN_FLIGHT = Setting.bytes(
      "spark.sluice.reader.maxBytesInFlight", "128m", "1m", "64g",
      "How many bytes of blocks and of the rows in them a reduce task may have under way to decoder threads, or "
          + "decoded there but not yet consumed. A frame that is larger is decoded ahead alone. All tasks of an "
          + "executor together are bounded by spark.sluice.memory.limit: where that has no room, blocks are decoded "
          + "when they are needed.");

  public static final Setting<Long> WRITER_PAGE_BYTES = Setting.bytes(
      "spark.sluice.writer.pageBytes", "1m", "64k", "64m",
      "Size of the pages in which map tasks collect rows. A task starts with a smaller page, and a row that is larger "
          + "than a page gets a page of its own.");

  public static final Setting<OptionalLong> WRITER_BATCH_BYTES = Setting.bytesOrAuto(
      "spark.sluice.writer.batchBytes", "1m", "1g",
      "How many bytes of rows are sorted by partition and encoded together. Larger batches give longer frames per "
          + "partition and need more memory. auto is enough for 1,024 rows per partition, between 4m and 64m, but at "
          + "most a quarter of spark.sluice.memory.limit divided by the number of tasks that can run at once, or an "
          + "eighth with encoder threads.");

  public static final Setting<GpuUse> GPU = Setting.choice("spark.sluice.gpu", GpuUse.class, GpuUse.OFF, Locale.ROOT,
      "Whether executors encode map output on a GPU too, and sort the references of large sorts of rows there. Blocks "
          + "and results are the same, byte for byte. off: no driver is looked for. auto: where there is a GPU, for "
          + "batches for which no encoder thread is idle and it is faster than the thread that has them, and for sorts "
          + "for which it is faster; both ways are measured when the executor starts and while it works, and without a "
          + "GPU nothing changes. on: for all batches and sorts that it takes, before encoder threads get them, but "
          + "for a task's last one where files are written slowly, which an encoder thread encodes beside the commit; "
          + "an executor that has no usable GPU logs a warning, counts it (gpu.unavailable) and encodes as with off. A "
          + "GPU has to pass a self-test first; one that makes other bytes than the CPU, fails for good or does not "
          + "answer within spark.sluice.gpu.timeout is not used (any more), with one warning. The device is the one "
          + "that Spark's resource discovery gives the task (spark.executor.resource.gpu.amount), else the only one. "
          + "The kernels were tested and measured on an H100; no application has run with them on a GPU yet.");

  public static final Setting<OptionalLong> GPU_MEMORY_LIMIT = Setting.bytesOrAuto(
      "spark.sluice.gpu.memory.limit", "192m", "1t",
      "How many bytes of the GPU's memory an executor takes from the driver. A batch needs about seven times its bytes "
          + "while it is encoded; one for which there is no memory is encoded by the CPU. auto is an eighth of the "
          + "GPU's memory, and spark.sluice.gpu.cache.limit beside it, but at most half of what is free when the "
          + "executor starts, so that RAPIDS keeps its pool.");

  public static final Setting<Long> GPU_CACHE_LIMIT = Setting.bytes("spark.sluice.gpu.cache.limit", "0", "0", "1t",
      "How many bytes of map output an executor also keeps in its GPU's memory, as a part of "
          + "spark.sluice.gpu.memory.limit: copies of committed outputs of which the GPU has encoded batches. Tasks of "
          + "the executor read blocks of 64 KiB to 64 MiB from them where the output itself is on the disk (in a file, "
          + "or moved there from memory). 0 keeps none. Spark's files, or memory with spark.sluice.store=cache, have "
          + "every output all the same, so that copies are dropped at once when batches need the memory, their "
          + "shuffle ends or the GPU fails, and nothing is lost. More than spark.sluice.gpu.memory.limit is an error; "
          + "an executor whose GPU has less memory free keeps fewer, and logs a warning. Without effect with "
          + "spark.shuffle.useOldFetchProtocol.");

  public static final Setting<Long> GPU_PINNED_LIMIT = Setting.bytes("spark.sluice.gpu.pinned.limit", "32m", "4m",
      "64m",
      "How many bytes of the host's memory an executor pins for copies from the GPU: 4m for each batch that is encoded "
          + "at a time. Where the driver pins less, fewer are. They are part of spark.sluice.memory.limit.");

  public static final Setting<Long> GPU_PAGES_LIMIT = Setting.bytes("spark.sluice.gpu.pages.limit", "4g", "0", "1t",
      "How many bytes of spark.sluice.memory.limit an executor pins for copies to the GPU: regions of 64m and more, "
          + "each once as many bytes as it has were copied from it. The driver copies pages in other memory by way of "
          + "buffers of its own, one copy at a time, which is several times as slow. Pinned memory is not given back "
          + "to the system while it is free. 0: none.");

  public static final Setting<Long> GPU_MIN_BATCH_BYTES = Setting.bytes(
      "spark.sluice.gpu.minBatchBytes", "4m", "64k", "1g",
      "Batches of fewer bytes are encoded by the CPU: copies and launches take longer than the work. As for "
          + "spark.sluice.writer.batchBytes, the bytes are those that rows fill in their pages, with 8 more for each "
          + "row. The default is the least that batches have with spark.sluice.writer.batchBytes=auto where there is "
          + "memory for it; an executor whose batches are shorter logs a warning. Sorts of references to rows, of 16 "
          + "bytes each, are the CPU's below it too.");

  public static final Setting<Long> GPU_TIMEOUT = Setting.millis("spark.sluice.gpu.timeout", "30s", "100ms", "1h",
      "How long the GPU may take for a step of a batch. After that the executor does not use it any more. Neither does "
          + "it when calls of the driver have not returned for four times as long; a task that waits for such a call "
          + "fails, and is tried again without the GPU. Work of other processes and libraries on the same GPU counts "
          + "too.");

  public static final Setting<OptionalLong> MEMORY_LIMIT = Setting.bytesOrAuto(
      "spark.sluice.memory.limit", "16m", "16t",
      "How many bytes outside the Java heap the shuffles of one executor may use together: rows that wait to be "
          + "encoded, the memory that encoding them needs, encoded runs, fetched frames and decoded batches. auto is "
          + "96m per core, at least 256m. Where the container's memory beyond the Java heap is known, auto is at most "
          + "a sixth of that memory, but no less than 64m and 16m per core. It is known from a memory limit of the "
          + "executor's cgroup, minus the heap, and on YARN and Kubernetes from spark.executor.memoryOverhead or "
          + "Spark's rule for its default. An executor logs at its start which limit it has and why, and warns when a "
          + "limit set here exceeds the container's memory beyond the heap. A limit set here is never exceeded. With "
          + "auto, a task that is the only one to hold memory may take more for rows that do not fit within the limit, "
          + "up to the container's memory beyond the heap minus 256m for the JVM itself; this is logged and counted "
          + "(memory.beyondLimit), and other tasks that ask for memory wait meanwhile. With "
          + "spark.memory.offHeap.enabled=true this setting is not used: the memory is taken from Spark's off-heap "
          + "execution memory, as by other operators.");

  public static final Setting<Long> MEMORY_WAIT_TIMEOUT = Setting.millis(
      "spark.sluice.memory.waitTimeout", "120s", "100ms", "1h",
      "How long a task that has spilled all it can waits for other tasks to release memory. After that it fails.");

  public static final Setting<Boolean> MEMORY_FAIL_ON_LEAK = Setting.flag(
      "spark.sluice.memory.failOnLeak", false, false,
      "Whether a task fails that has not released all of its memory when it ends. For tests. With false, the memory is "
          + "freed, and the leak is logged and counted.");

  public static final Setting<String> NATIVE_LIBRARY = Setting.text("spark.sluice.native.library",
      "empty, or the path of a readable file on every machine",
      "Path of the libsluice_jni.so to load, without copying it, instead of the one in the jar. If empty, the one in "
          + "the jar is copied to java.io.tmpdir and loaded from there: where that folder is mounted noexec, set this "
          + "path. Do not overwrite the file while an executor runs; replace it by a rename. An executor that cannot "
          + "load the library encodes and decodes shuffle data in Java.");

  public static final Setting<Boolean> UI_ENABLED = Setting.flag("spark.sluice.ui.enabled", true, false,
      "Whether the driver posts events of Sluice's shuffles, which Spark writes to the event log, and Spark's UI has a "
          + "tab Sluice that shows them. It needs spark.plugins. Where there is neither Spark's UI nor an event log "
          + "(spark.ui.enabled, spark.eventLog.enabled), it has no effect.");

  public static final Setting<Long> UI_RETAINED_SHUFFLES = Setting.count(
      "spark.sluice.ui.retainedShuffles", "1000", 1, 1_000_000,
      "How many shuffles the tab Sluice of Spark's UI remembers before it forgets the oldest, about 3 KB each. A "
          + "History Server takes the value from its own settings.");

  private static final List<SettingsGroup> GROUPS = List.of(
      new SettingsGroup("What Sluice does",
          "To switch Sluice or a part of it off: for one session, to compare, or to find out which part a problem "
              + "comes from.",
          List.of(ENABLED, RECORDS_ENABLED, RECORDS_GUESS_ORDER, SQL_SORT, SQL_EXCHANGE, COLUMNAR, COMET,
              SQL_CLEANUP)),
      new SettingsGroup("Where map output is kept, and how blocks travel",
          "The mode is all that most applications need: it chooses the store and the transport, each of which can also "
              + "be set on its own. spark.sluice.cache.hostLimit has an effect only where map output is kept in "
              + "memory.",
          List.of(MODE, STORE, CACHE_HOST_LIMIT, TRANSPORT)),
      new SettingsGroup("Memory",
          "For containers that are killed for their memory, for tasks that wait for memory, and for many spills.",
          List.of(MEMORY_LIMIT, MEMORY_WAIT_TIMEOUT, MEMORY_FAIL_ON_LEAK)),
      new SettingsGroup("Size of the data and threads",
          "Defaults of auto follow the cores and the memory of the executor. On slow networks try "
              + "spark.sluice.codec.level=small.",
          List.of(CODEC, CODEC_LEVEL, WRITER_THREADS, WRITER_PAGE_BYTES, WRITER_BATCH_BYTES, READER_THREADS,
              READER_MAX_BYTES_IN_FLIGHT)),
      new SettingsGroup("GPUs",
          "For executors with an NVIDIA GPU whose cores are busy with encoding; without effect where spark.sluice.gpu "
              + "is off. For whom it may pay: docs/gpu.md.",
          List.of(GPU, GPU_MEMORY_LIMIT, GPU_CACHE_LIMIT, GPU_PINNED_LIMIT, GPU_PAGES_LIMIT, GPU_MIN_BATCH_BYTES,
              GPU_TIMEOUT)),
      new SettingsGroup("One-sided reads",
          "For spark.sluice.mode UCX and RDMA, and spark.sluice.transport ucx and auto; without effect otherwise.",
          List.of(TRANSPORT_TIMEOUT, TRANSPORT_RETRY_DELAY, TRANSPORT_EARLY_START, TRANSPORT_HEARTBEAT_INTERVAL,
              TRANSPORT_HEARTBEAT_TIMEOUT, TRANSPORT_MAX_CONNECTIONS,
              TRANSPORT_MAX_RECEIVE_BYTES, TRANSPORT_MAX_MAPPED_BYTES, TRANSPORT_MAX_MAPPED_REGIONS, UCX_LIBRARY,
              UCX_ALLOW_UNAUTHENTICATED_TCP)),
      new SettingsGroup("Watching", "What the driver shows of Sluice in Spark's UI and in the event log.",
          List.of(UI_ENABLED, UI_RETAINED_SHUFFLES)),
      new SettingsGroup("Installation", "Where a machine does not let Sluice load its library as it is.",
          List.of(NATIVE_LIBRARY)));

  private static final List<Setting<?>> ALL =
      List.copyOf(GROUPS.stream().flatMap(group -> group.settings().stream()).toList());

  private SluiceSettings() {}

  /** In the order of the documentation. */
  public static List<Setting<?>> all() {
    return ALL;
  }

  /** Every setting is in one of them. */
  static List<SettingsGroup> groups() {
    return GROUPS;
  }
}
