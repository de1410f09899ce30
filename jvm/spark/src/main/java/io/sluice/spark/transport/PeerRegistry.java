package io.sluice.spark.transport;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The driver's list of executors that can be read one-sidedly, as a numbered sequence of changes of which only the
 * last of each executor is kept. Any thread.
 */
public final class PeerRegistry {
  private final LongSupplier clockNanos;
  private final long silenceNanos;
  private final Map<String, Entry> entries = new HashMap<>();
  /**
   * Ids of executors that the scheduler has lost. Spark uses no id twice in an application, so none is ever taken out.
   */
  private final Set<String> removed = new HashSet<>();
  private long sequence;

  /** @param address null for an executor that is gone */
  private record Entry(byte[] address, long changed, long heardNanos) {}

  /**
   * @param clockNanos as {@link System#nanoTime}
   * @param silenceMillis an executor that sends no heartbeat for so long is withdrawn until it sends one again
   */
  public PeerRegistry(LongSupplier clockNanos, long silenceMillis) {
    this.clockNanos = clockNanos;
    this.silenceNanos = TimeUnit.MILLISECONDS.toNanos(silenceMillis);
  }

  /** Records an executor's heartbeat and returns the changes that it does not know yet. */
  public synchronized PeerUpdate heartbeat(PeerHeartbeat heartbeat) {
    long now = clockNanos.getAsLong();
    if (!removed.contains(heartbeat.executorId())) {
      hear(heartbeat, now);
    }
    dropSilent(now);
    return updateFor(heartbeat);
  }

  /** The scheduler lost an executor. */
  public synchronized void remove(String executorId) {
    removed.add(executorId);
    drop(executorId, entries.get(executorId));
  }

  private void hear(PeerHeartbeat heartbeat, long now) {
    Entry known = entries.get(heartbeat.executorId());
    boolean same = known != null && Arrays.equals(known.address(), heartbeat.address());
    long changed = same ? known.changed() : ++sequence;
    entries.put(heartbeat.executorId(), new Entry(heartbeat.address(), changed, now));
  }

  private void dropSilent(long now) {
    for (Map.Entry<String, Entry> entry : entries.entrySet()) {
      if (now - entry.getValue().heardNanos() > silenceNanos) {
        drop(entry.getKey(), entry.getValue());
      }
    }
  }

  private void drop(String executorId, Entry known) {
    if (known != null && known.address() != null) {
      entries.put(executorId, new Entry(null, ++sequence, known.heardNanos()));
    }
  }

  private PeerUpdate updateFor(PeerHeartbeat heartbeat) {
    Map<String, byte[]> announced = new HashMap<>();
    List<String> gone = new ArrayList<>();
    entries.forEach((id, entry) -> {
      if (entry.changed() <= heartbeat.since() || id.equals(heartbeat.executorId())) {
        return;
      }
      if (entry.address() != null) {
        announced.put(id, entry.address());
      } else if (heartbeat.since() > 0) {
        gone.add(id);
      }
    });
    return new PeerUpdate(sequence, announced, gone);
  }
}
