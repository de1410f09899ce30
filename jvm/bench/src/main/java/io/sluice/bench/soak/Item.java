package io.sluice.bench.soak;

import java.io.Serializable;

/** A value of a class that no engine knows. No record, because Kryo cannot write records. */
final class Item implements Serializable {

  private static final long serialVersionUID = 1L;

  private final long number;
  private final String text;

  Item(long number, String text) {
    this.number = number;
    this.text = text;
  }

  long number() {
    return number;
  }

  String text() {
    return text;
  }
}
