package io.sluice.spark.transport;

import java.io.Serializable;

/**
 * The message that an executor sends to the driver every few seconds.
 *
 * @param address how it can be read
 * @param since the sequence number of the last update that it has
 */
public record PeerHeartbeat(String executorId, byte[] address, long since) implements Serializable {
  private static final long serialVersionUID = 1L;
}
