package io.sluice.spark.transport;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;

/** Takes blocks as Spark's fetch iterator does: keeps a reference, unless it has been closed. */
final class RecordingListener implements BlockFetchingListener {
  /** The reported outcome of a block: bytes, or a failure. */
  record Outcome(byte[] bytes, Throwable failure) {}

  final Map<String, List<Outcome>> outcomes = new ConcurrentHashMap<>();
  private final List<ManagedBuffer> kept = new CopyOnWriteArrayList<>();
  volatile boolean closed;
  volatile String throwingOn = "";

  @Override
  public void onBlockFetchSuccess(String id, ManagedBuffer data) {
    if (closed) {
      outcomes.computeIfAbsent(id, key -> new CopyOnWriteArrayList<>()).add(new Outcome(null, null));
      return;
    }
    kept.add(data.retain());
    try (InputStream bytes = data.createInputStream()) {
      outcomes.computeIfAbsent(id, key -> new CopyOnWriteArrayList<>()).add(new Outcome(bytes.readAllBytes(), null));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    if (id.equals(throwingOn)) {
      throw new IllegalStateException("the listener does not like " + id);
    }
  }

  @Override
  public void onBlockFetchFailure(String id, Throwable failure) {
    outcomes.computeIfAbsent(id, key -> new CopyOnWriteArrayList<>()).add(new Outcome(null, failure));
  }

  int told() {
    return outcomes.values().stream().mapToInt(List::size).sum();
  }

  /** The one outcome of a block. */
  Outcome of(String id) {
    List<Outcome> all = outcomes.getOrDefault(id, List.of());
    if (all.size() != 1) {
      throw new AssertionError(id + " has outcomes " + all);
    }
    return all.get(0);
  }

  /** Reads the buffer that it got to its end. */
  void releaseAll() {
    kept.forEach(ManagedBuffer::release);
    kept.clear();
  }
}
