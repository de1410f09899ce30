package io.sluice.spark.conf;

import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;

/** Every {@code spark.sluice.*} option there is. */
public final class SluiceSettings {
  /** All keys start with it. */
  public static final String PREFIX = "spark.sluice.";

  public static final Setting<Boolean> ENABLED = Setting.flag("spark.sluice.enabled", true, true,
      "Whether new shuffles may take Sluice's path. A session can change it at run time; shuffles that exist "
          + "keep the format they were registered with.");

  public static final Setting<Boolean> RECORDS_ENABLED = Setting.flag("spark.sluice.records.enabled", true, false,
      "Whether shuffles of RDDs take Sluice's path too. false leaves them to Spark and keeps those of SQL.");

  public static final Setting<Mode> MODE = Setting.choice("spark.sluice.mode", Mode.class, Mode.MULTITHREADED, null,
      "A preset for how blocks are made, kept and moved; spark.sluice.codec, store and transport, where they are "
          + "set, win over it. MULTITHREADED is "
          + "spark.sluice.codec=sluice, spark.sluice.store=files and spark.sluice.transport=netty; UCX is "
          + "codec=sluice, store=cache and transport=ucx; RDMA is codec=spark, store=files and transport=ucx; "
          + "CACHE_ONLY, for applications of one executor, is codec=sluice, store=cache and transport=netty.");

  public static final Setting<Codec> CODEC = Setting.choice(
      "spark.sluice.codec", Codec.class, Codec.SLUICE, Locale.ROOT,
      "How records become bytes. sluice writes frames wherever it can; spark leaves every shuffle to Spark's own "
          + "writers and readers, so that only the transport is Sluice's.");

  public static final Setting<Store> STORE = Setting.choice(
      "spark.sluice.store", Store.class, Store.FILES, Locale.ROOT,
      "Where map output lives. files are Spark's data files. cache keeps it in memory, under the same names, and moves "
          + "it to the local directories when spark.sluice.cache.hostLimit is reached, the oldest shuffle's first; "
          + "what finds no room is written to files at once. It needs spark.sluice.codec=sluice, and does nothing with "
          + "spark.shuffle.service.enabled or spark.shuffle.sync, which a warning says.");

  public static final Setting<Long> CACHE_HOST_LIMIT = Setting.bytes("spark.sluice.cache.hostLimit", "1g", "1m", "16t",
      "How many bytes of map output one executor keeps in memory with spark.sluice.store=cache. They lie outside the "
          + "Java heap and beside spark.sluice.memory.limit: add them to spark.executor.memoryOverhead.");

  public static final Setting<Transport> TRANSPORT = Setting.choice(
      "spark.sluice.transport", Transport.class, Transport.NETTY, Locale.ROOT,
      "How blocks travel between executors. netty is Spark's block transfer. ucx reads them one-sidedly, straight "
          + "from the other executor's map outputs into this one's memory, over RDMA or TCP, and within one machine by "
          + "a system call (process_vm_readv) where the kernel permits it; where UCX cannot be opened a warning says "
          + "why and blocks travel by netty. auto does the same without the warning. A block that cannot be read "
          + "one-sidedly always travels by netty. Needs spark.plugins, by which executors find each other. What Sluice "
          + "receives one-sidedly takes about spark.reducer.maxSizeInFlight per task of memory outside the Java heap, "
          + "and never more than three times as much, where Spark's block transfer would take as much of Netty's; what "
          + "exceeds that travels by netty.");

  public static final Setting<Long> TRANSPORT_TIMEOUT = Setting.millis(
      "spark.sluice.transport.timeout", "20s", "100ms", "1h",
      "How long an executor that is read one-sidedly may be silent while this executor waits for an "
          + "answer or a read. Then it is given up: its blocks are asked for by netty, and so is everything of it for "
          + "spark.sluice.transport.retryDelay. However slow, a read that moves on is not ended.");

  public static final Setting<Long> TRANSPORT_RETRY_DELAY = Setting.millis(
      "spark.sluice.transport.retryDelay", "30s", "100ms", "1h",
      "How long an executor that could not be read one-sidedly is read by netty before it is tried again. Each try "
          + "that fails doubles it, up to 16 times as long. While it is tried, its blocks go on by netty.");

  public static final Setting<Long> TRANSPORT_MAX_CONNECTIONS = Setting.count(
      "spark.sluice.transport.maxConnections", "1024", 1, 65_536,
      "The most connections for one-sided reads that an executor has at once: to executors that it reads, and from "
          + "those that read it. When there are so many, the one that was used least recently is closed, if nothing is "
          + "read over it; if all are in use, blocks travel by netty. An idle connection is closed after two minutes "
          + "in any case.");

  public static final Setting<Long> TRANSPORT_MAX_MAPPED_BYTES = Setting.bytes(
      "spark.sluice.transport.maxMappedBytes", "2g", "16m", "16t",
      "How many bytes of an executor's map outputs may be mapped and registered at once for others to read "
          + "one-sidedly; half of it may stay so while nobody reads. Mapped files take no memory of their own, but an "
          + "RDMA device that does not page on demand pins them: then they count as the executor's memory. What is "
          + "asked for beyond it travels by netty (transport.nettyPeerBusy). Where a device may pin memory, an "
          + "executor uses half of its limit of locked memory (ulimit -l) if that is less, with a warning.");

  public static final Setting<Long> TRANSPORT_MAX_MAPPED_REGIONS = Setting.count(
      "spark.sluice.transport.maxMappedRegions", "16384", 16, 10_000_000,
      "How many mappings these may be. A mapping is 64k for the first small block of a part of a file, 4m for "
          + "others. An executor uses half of vm.max_map_count if that is less, with a warning.");

  public static final Setting<Boolean> UCX_ALLOW_UNAUTHENTICATED_TCP = Setting.flag(
      "spark.sluice.ucx.allowUnauthenticatedTcp", false, false,
      "With spark.authenticate=true, whether UCX may use TCP all the same. Over TCP UCX checks no "
          + "secret: whoever connects to its port can read and write any address of the executor's process. true says "
          + "that only "
          + "hosts of this application can reach the executors' ports. With false, blocks of applications with "
          + "spark.authenticate travel by netty, unless spark.executorEnv.UCX_TLS keeps UCX from TCP.");

  public static final Setting<String> UCX_LIBRARY = Setting.text("spark.sluice.ucx.library",
      "empty, or a path on every machine",
      "Path of libucp.so.0, or of the folder it lies in. Empty takes the system's, and where there is none the one in "
          + "the jar, which has no RDMA devices.");

  public static final Setting<CodecLevel> CODEC_LEVEL = Setting.choice(
      "spark.sluice.codec.level", CodecLevel.class, CodecLevel.FAST, Locale.ROOT,
      "How hard rows are encoded. plain writes them as they are; fast uses columnar encodings and general "
          + "compression only where it clearly pays; small also compresses long byte columns, for slow networks. "
          + "The general compression is that of spark.io.compression.codec. spark.shuffle.compress=false means plain.");

  private static final String SPARE_CORES =
      "auto takes the cores that were granted to the executor and that no task's thread occupies, at most 8: "
          + "those beyond one per task where spark.task.cpus is more than 1, and whole cores of a cgroup's CPU quota "
          + "(spark.kubernetes.executor.limit.cores) beyond the executor's. Everywhere else, and with local[n], it is "
          + "0: cores that the process sees but was not granted may be in use by other containers.";

  public static final Setting<OptionalLong> WRITER_THREADS = Setting.countOrAuto("spark.sluice.writer.threads", 0, 256,
      "Encoder threads of one executor, shared by its tasks. With 0 every task encodes its rows itself. "
          + SPARE_CORES);

  public static final Setting<OptionalLong> READER_THREADS = Setting.countOrAuto("spark.sluice.reader.threads", 0, 256,
      "Decoder threads of one executor, shared by its tasks. With 0 every task decodes its blocks itself. "
          + SPARE_CORES);

  public static final Setting<Long> READER_MAX_BYTES_IN_FLIGHT = Setting.bytes(
      "spark.sluice.reader.maxBytesInFlight", "128m", "1m", "64g",
      "How many bytes of blocks and decoded rows all reduce tasks of one executor may have fetched or decoded and "
          + "not yet consumed.");

  public static final Setting<Long> WRITER_PAGE_BYTES = Setting.bytes(
      "spark.sluice.writer.pageBytes", "1m", "64k", "64m",
      "Size of the pages that map tasks collect rows in. A task starts with a smaller page, and a row that is "
          + "larger than a page gets a page of its own.");

  public static final Setting<OptionalLong> WRITER_BATCH_BYTES = Setting.bytesOrAuto(
      "spark.sluice.writer.batchBytes", "1m", "1g",
      "How many bytes of rows are sorted by partition and encoded together. Larger batches give longer frames per "
          + "partition and need more memory. auto takes 1,024 rows per partition, between 4m and 64m, and at most a "
          + "quarter of the memory limit per task that can run at once, an eighth with encoder threads.");

  public static final Setting<OptionalLong> MEMORY_LIMIT = Setting.bytesOrAuto(
      "spark.sluice.memory.limit", "16m", "16t",
      "How many bytes outside the Java heap the shuffles of one executor may use together: rows on their way to "
          + "be encoded, what encoding them needs, encoded runs, fetched frames and decoded batches. auto takes 96m "
          + "per core, at least 256m; where it is known what the container has beyond the Java heap, at most a sixth "
          + "of that, but no less than 64m and 16m per core. It is known from a memory limit of the executor's "
          + "cgroup, minus the heap, and on YARN and Kubernetes from spark.executor.memoryOverhead or Spark's rule "
          + "for it. An executor says at its start which limit it has and why, and warns when a limit set here "
          + "exceeds what the container has. A limit set here is never exceeded. With auto, a task that is the only "
          + "one to hold memory may take more for rows that do not fit the limit, up to what the container has beyond "
          + "the heap minus 256m for the JVM itself; that is logged and counted (memory.beyondLimit), and other tasks "
          + "wait until it is over. With spark.memory.offHeap.enabled=true the setting is not used: the memory is "
          + "Spark's, as for every other operator.");

  public static final Setting<Long> MEMORY_WAIT_TIMEOUT = Setting.millis(
      "spark.sluice.memory.waitTimeout", "120s", "100ms", "1h",
      "How long a task that has already spilled all it can waits for other tasks to give memory back before it fails.");

  public static final Setting<Boolean> MEMORY_FAIL_ON_LEAK = Setting.flag(
      "spark.sluice.memory.failOnLeak", false, false,
      "Whether a task that ends with memory leased fails. For tests; otherwise a leak is freed, logged and counted.");

  public static final Setting<String> NATIVE_LIBRARY = Setting.text("spark.sluice.native.library",
      "empty, or the path of a readable file on every machine",
      "Path of libsluice_jni.so to load, where it is, instead of the one in the jar. Empty takes the one in the jar, "
          + "which is copied to java.io.tmpdir to be loaded: where that is mounted noexec, set this. Do not overwrite "
          + "the file while an executor runs; replace it by a rename. An executor that can load neither works in "
          + "Java.");

  private static final List<Setting<?>> ALL =
      List.of(ENABLED, RECORDS_ENABLED, MODE, CODEC, CODEC_LEVEL, WRITER_THREADS,
          WRITER_PAGE_BYTES, WRITER_BATCH_BYTES, READER_THREADS, READER_MAX_BYTES_IN_FLIGHT, STORE, CACHE_HOST_LIMIT,
          TRANSPORT, TRANSPORT_TIMEOUT,
          TRANSPORT_RETRY_DELAY, TRANSPORT_MAX_CONNECTIONS, TRANSPORT_MAX_MAPPED_BYTES, TRANSPORT_MAX_MAPPED_REGIONS,
          UCX_LIBRARY,
          UCX_ALLOW_UNAUTHENTICATED_TCP, MEMORY_LIMIT, MEMORY_WAIT_TIMEOUT, MEMORY_FAIL_ON_LEAK, NATIVE_LIBRARY);

  private SluiceSettings() {}

  /** In the order of the documentation. */
  public static List<Setting<?>> all() {
    return ALL;
  }
}
