package io.sluice.systemtests;

import java.io.Serializable;

/** A time by this machine's clock, in milliseconds since 1970. */
record Span(long from, long to) implements Serializable {

  long millis() {
    return to - from;
  }

  /** Whether all of {@code other} lies within. */
  boolean contains(Span other) {
    return from <= other.from && other.to <= to;
  }

  /** Whether the two have an instant in common. */
  boolean meets(Span other) {
    return from <= other.to && other.from <= to;
  }
}
