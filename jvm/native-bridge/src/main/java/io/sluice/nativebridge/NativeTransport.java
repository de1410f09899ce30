package io.sluice.nativebridge;

/**
 * The calls into the native core that move blocks between executors by one-sided reads. A transport is made once per
 * process; its progress thread is native, so that a pause of this JVM stops neither its reads nor what peers read here.
 *
 * <p><b>How a block is read.</b> The mapper's process {@linkplain #publish publishes} a committed map output. A
 * reducer's process {@linkplain #connect connects} to it and {@linkplain #fetch fetches} blocks: its progress thread
 * asks the peer's for their locations, leases memory and reads the bytes into it. Every block of an accepted fetch ends
 * in exactly one completion, which {@link #poll} delivers: its bytes, or why the block must be fetched in another way.
 * This memory is separate from that of {@link NativeCore#lease} and has a limit of its own.
 *
 * <p><b>Results, handles, threads.</b> As in {@link NativeCore}: negative is a reason, {@link
 * NativeCore#lastErrorMessage} says more, a stopped handle is {@link NativeCore#STALE_HANDLE}. Every method may be
 * called from any thread; {@link #poll} by one thread at a time.
 */
public final class NativeTransport {
  /** There is no usable UCX in this process: not found, too old, or it refuses to work here. */
  public static final int UNAVAILABLE = -8;
  /** The peer has no such map output: not committed there, or removed since. */
  public static final int NOT_FOUND = -9;
  /**
   * The peer, or the way to it, failed, in its self-test perhaps; {@link #peerError} says how. The peer stays failed
   * until it is connected again.
   */
  public static final int PEER = -10;
  /** The peer did not answer in time; it stays failed until it is connected again. */
  public static final int TIMEOUT = -11;

  /** The peer has reached a limit of its own (mapped memory, open questions), or its disk does not answer in time. */
  public static final int BUSY = -14;

  /** Of {@link #peerState}: the peer may be read. */
  public static final int PEER_READY = 1;

  /** Longs per block in {@link #fetch}: shuffle id, map id, first partition, partition after the last. */
  public static final int BLOCK_LONGS = 4;
  /**
   * Longs per completion in {@link #poll}: request, index of the block in it, status (0 or a negative reason), address,
   * bytes. With status 0 and bytes above 0 the address is that of memory of these bytes, the receiver's to {@linkplain
   * #release release}; otherwise it is 0.
   */
  public static final int COMPLETION_LONGS = 5;

  private NativeTransport() {}

  /**
   * Opens UCX and starts the progress thread.
   *
   * @param library where the user says that UCX is: path of {@code libucp.so.0} or of its folder; empty: the system's,
   *     then {@code bundled}
   * @param bundled folder of the libraries of the jar; empty: none
   * @param secret the secret that peers must prove that they know before they are told where blocks are; empty: no
   *     proof is needed
   * @param timeoutMillis how long a peer may send nothing, while this process waits for it, before it is given up
   * @param receiveLimitBytes of received blocks that were not released, in this process; what exceeds it completes with
   *     {@link NativeCore#NO_MEMORY}
   * @param maxMappedBytes of published files that may be mapped and registered at once; what a peer asks for beyond
   *     that completes there with {@link #BUSY}. Reduced where this process may pin less; {@link #warnings} says so
   * @param maxMappedRegions in how many mappings; reduced where the system allows fewer
   * @param maxConnections to and from other processes at once
   * @param directories where published files will be: with an RDMA device it is tried at once how files there can be
   *     registered; {@link #registrations} and {@link #warnings} say what came of it
   * @return a handle, or {@link #UNAVAILABLE}
   */
  public static long start(String library, String bundled, byte[] secret, long timeoutMillis, long receiveLimitBytes,
      long maxMappedBytes, long maxMappedRegions, long maxConnections, String... directories) {
    long[] limits = {timeoutMillis, receiveLimitBytes, maxMappedBytes, maxMappedRegions, maxConnections};
    return startWithin(library, bundled, secret, String.join("\n", directories), limits);
  }

  /**
   * @param directories those of {@link #start}, a line for each
   * @param limits the five numbers of {@link #start}, in their order
   */
  private static native long startWithin(
      String library, String bundled, byte[] secret, String directories, long[] limits);

  /**
   * The limits that were reduced for this machine, and the file systems whose files cannot be registered as they are,
   * each with the cause, for the log; empty if there is nothing to say. Null for a stopped transport.
   */
  public static native String warnings(long transport);

  /**
   * How files of each of the directories are registered with an RDMA device, for the log; empty without a device. Null
   * for a stopped transport.
   */
  public static native String registrations(long transport);

  /**
   * The transports and devices that UCX has chosen to reach this process itself, which are those of other hosts but for
   * TCP's device ({@code tcp/lo}, {@code rc_mlx5/mlx5_0:1}), with commas; empty if UCX does not say. Null for a stopped
   * transport.
   */
  public static native String means(long transport);

  /** One line for the log: UCX's version, the library's path. Null for a stopped transport. */
  public static native String describe(long transport);

  /** The address with which peers {@link #connect}: a few hundred opaque bytes. Null for a stopped transport. */
  public static native byte[] address(long transport);

  /**
   * Makes a committed map output readable for peers; one of the same map is replaced. The file is opened and mapped
   * when a peer asks for a block of it: if it is gone by then, the block is not found. It must never be truncated or
   * written.
   *
   * @param indexFile Spark's index file of it, from which offsets are read that would take too much memory; it may be
   *     empty: then all are kept
   * @param offsets where each partition begins in the file, and where the last ends: partitions + 1, ascending
   */
  public static native int publish(
      long transport, int shuffleId, long mapId, String dataFile, String indexFile, long[] offsets);

  /**
   * Announces that the path of an output now refers to another file with the same bytes: what is mapped of
   * the old one is given up when reads under way are done. Returns the number of outputs that there were: 0 or 1.
   */
  public static native int renew(long transport, int shuffleId, long mapId);

  /**
   * Withdraws all published outputs of a shuffle; reads under way finish. Returns how many there
   * were.
   */
  public static native int withdrawShuffle(long transport, int shuffleId);

  /**
   * Adds a peer, or, when it has failed, connects it again. Does not wait: errors are reported by the completions of
   * later fetches.
   *
   * @param peer a number of the caller's choice, 0 or greater
   * @param address the peer's {@link #address}
   */
  public static native int connect(long transport, long peer, byte[] address);

  /** Forgets a peer; blocks of it that are under way complete with {@link #PEER}. Unknown peers are ignored. */
  public static native int disconnect(long transport, long peer);

  /**
   * Starts to read blocks of one peer. Does not wait.
   *
   * @param blocks {@link #BLOCK_LONGS} per block
   * @return the request's number, above 0; {@link #PEER} when the peer is unknown or failed: no completion follows
   */
  public static native long fetch(long transport, long peer, long[] blocks);

  /**
   * Waits for completions.
   *
   * @param completions room for one or more times {@link #COMPLETION_LONGS}
   * @return how many were delivered; 0 when none came in time
   */
  public static native int poll(long transport, long[] completions, int timeoutMillis);

  /** Gives back the memory of a completion; also after {@link #stop}. */
  public static native int release(long address);

  /** The names of the values of {@link #statistics(long, long[])}, in their order, separated by commas. */
  static native String statisticNames();

  /** Writes a number for each of {@link #statisticNames}; how many. */
  static native int statistics(long transport, long[] statistics);

  /**
   * The transport's statistics now.
   *
   * @throws NativeException when it was stopped
   */
  public static TransportStatistics statistics(long transport) {
    long[] numbers = new long[TransportStatistics.NAMES.size()];
    NativeException.check(statistics(transport, numbers));
    return TransportStatistics.of(numbers);
  }

  /** Bytes that were read by system calls from processes of this machine since the transport's start. */
  public static native long cmaBytes(long transport);

  /**
   * How far the connection to a peer has come. Does not wait.
   *
   * @return 0: unknown or still connecting; {@link #PEER_READY}: its self-test was passed in this connection; negative:
   *     failed, and {@link #peerError} says how
   */
  public static native int peerState(long transport, long peer);

  /** Why the peer last failed, for the log; empty when it has not. Null for a stopped transport. */
  public static native String peerError(long transport, long peer);

  /**
   * Stops the progress thread and gives everything back. Fetches under way get no completion; a {@link #poll} that
   * waits returns {@link NativeCore#STALE_HANDLE}.
   */
  public static native int stop(long transport);
}
