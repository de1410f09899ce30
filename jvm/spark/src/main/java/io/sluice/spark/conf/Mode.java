package io.sluice.spark.conf;

/** The presets of {@code spark.sluice.mode}: what the axes are that nobody has set by hand. */
public enum Mode {
  /** Frames in Spark's files, moved by Spark's block transfer, encoded and decoded by many threads. */
  MULTITHREADED(Codec.SLUICE, Transport.NETTY, true),
  UCX(Codec.SLUICE, Transport.UCX, false),
  /** Spark's own files as its own writers write them, read one-sidedly. */
  RDMA(Codec.SPARK, Transport.UCX, true),
  CACHE_ONLY(Codec.SLUICE, Transport.NETTY, false);

  private final Codec codec;
  private final Transport transport;
  private final boolean available;

  Mode(Codec codec, Transport transport, boolean available) {
    this.codec = codec;
    this.transport = transport;
    this.available = available;
  }

  Codec codec() {
    return codec;
  }

  Transport transport() {
    return transport;
  }

  /** Whether this version has it. */
  boolean available() {
    return available;
  }
}
