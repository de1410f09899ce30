package io.sluice.spark.metrics;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** The values of every {@link Counter} of one process. All methods may be called from any thread. */
public final class Counters {
  private final LongAdder[] values = new LongAdder[Counter.values().length];

  public Counters() {
    for (int i = 0; i < values.length; i++) {
      values[i] = new LongAdder();
    }
  }

  public void add(Counter counter, long amount) {
    values[counter.ordinal()].add(amount);
  }

  public void increment(Counter counter) {
    values[counter.ordinal()].increment();
  }

  public long get(Counter counter) {
    return values[counter.ordinal()].sum();
  }

  /** Every counter and its value now; counters that were never increased are 0. */
  public Map<Counter, Long> snapshot() {
    Map<Counter, Long> snapshot = new EnumMap<>(Counter.class);
    for (Counter counter : Counter.values()) {
      snapshot.put(counter, get(counter));
    }
    return snapshot;
  }
}
