package io.sluice.spark.metrics;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/**
 * The values of every {@link Counter}: of one process, or of the tasks of one shuffle in one stage, which pass what
 * they count on to their process's. All methods may be called from any thread.
 */
public final class Counters {
  private final LongAdder[] values = new LongAdder[Counter.values().length];
  /** Counts the same; null for a process's own. */
  private final Counters process;

  public Counters() {
    this(null);
  }

  /** @param process what is counted here is added there too; null for none */
  Counters(Counters process) {
    this.process = process;
    for (int i = 0; i < values.length; i++) {
      values[i] = new LongAdder();
    }
  }

  public void add(Counter counter, long amount) {
    values[counter.ordinal()].add(amount);
    if (process != null) {
      process.add(counter, amount);
    }
  }

  public void increment(Counter counter) {
    add(counter, 1);
  }

  public long get(Counter counter) {
    return values[counter.ordinal()].sum();
  }

  /** Every value now, in the order of the enum. */
  long[] values() {
    long[] now = new long[values.length];
    for (int i = 0; i < now.length; i++) {
      now[i] = values[i].sum();
    }
    return now;
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
