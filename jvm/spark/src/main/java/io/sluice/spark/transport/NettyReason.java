package io.sluice.spark.transport;

import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeTransport;
import io.sluice.spark.metrics.Counter;

/** Why a block was left to Spark's block transfer. */
enum NettyReason {
  UNKNOWN_PEER(Counter.TRANSPORT_NETTY_UNKNOWN_PEER),
  PEER_FAILED(Counter.TRANSPORT_NETTY_PEER_FAILED),
  TIMEOUT(Counter.TRANSPORT_NETTY_TIMEOUT),
  NOT_FOUND(Counter.TRANSPORT_NETTY_NOT_FOUND),
  PEER_BUSY(Counter.TRANSPORT_NETTY_PEER_BUSY),
  NO_MEMORY(Counter.TRANSPORT_NETTY_NO_MEMORY),
  TO_DISK(Counter.TRANSPORT_NETTY_TO_DISK),
  OTHER(Counter.TRANSPORT_NETTY_OTHER);

  private final Counter counter;

  NettyReason(Counter counter) {
    this.counter = counter;
  }

  /** The counter of the blocks. */
  Counter counter() {
    return counter;
  }

  /** Whether the peer is at fault, and not just the block. */
  boolean isPeers() {
    return this == PEER_FAILED || this == TIMEOUT;
  }

  /** The reason that belongs to a negative status of a completion or a fetch. */
  static NettyReason ofStatus(long status) {
    return switch ((int) status) {
      case NativeTransport.PEER -> PEER_FAILED;
      case NativeTransport.TIMEOUT -> TIMEOUT;
      case NativeTransport.NOT_FOUND -> NOT_FOUND;
      case NativeTransport.BUSY -> PEER_BUSY;
      case NativeCore.NO_MEMORY -> NO_MEMORY;
      default -> OTHER;
    };
  }
}
