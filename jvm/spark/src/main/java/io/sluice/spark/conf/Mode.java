package io.sluice.spark.conf;

/** The presets of {@code spark.sluice.mode}: codec, store and transport where the user has not set them. */
public enum Mode {
  /** Frames in Spark's files, moved by Spark's block transfer, encoded and decoded by many threads. */
  MULTITHREADED(Codec.SLUICE, Store.FILES, Transport.NETTY),
  /** Frames in memory while there is room, read one-sidedly. */
  UCX(Codec.SLUICE, Store.CACHE, Transport.UCX),
  /** Spark's own files as its own writers write them, read one-sidedly. */
  RDMA(Codec.SPARK, Store.FILES, Transport.UCX),
  /** Frames in memory while there is room, moved by Spark's block transfer: for applications of one executor. */
  CACHE_ONLY(Codec.SLUICE, Store.CACHE, Transport.NETTY);

  private final Codec codec;
  private final Store store;
  private final Transport transport;

  Mode(Codec codec, Store store, Transport transport) {
    this.codec = codec;
    this.store = store;
    this.transport = transport;
  }

  Codec codec() {
    return codec;
  }

  Store store() {
    return store;
  }

  Transport transport() {
    return transport;
  }
}
