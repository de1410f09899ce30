package io.sluice.systemtests;

import java.io.Serializable;

/** A job's own class that can be changed, with an order; a record of it is written by the job's serializer. */
final class Tally implements Serializable, Comparable<Tally> {
  private static final long serialVersionUID = 1L;

  private int count;
  private String name;

  Tally(int count, String name) {
    set(count, name);
  }

  void set(int newCount, String newName) {
    count = newCount;
    name = newName;
  }

  /** Adds {@code other} to this one; in whatever order several are added, the result is the same. */
  Tally add(Tally other) {
    count += other.count;
    name = name.compareTo(other.name) >= 0 ? name : other.name;
    return this;
  }

  @Override
  public int compareTo(Tally other) {
    int byCount = Integer.compare(count, other.count);
    return byCount != 0 ? byCount : name.compareTo(other.name);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Tally tally && tally.count == count && tally.name.equals(name);
  }

  @Override
  public int hashCode() {
    return count;
  }

  @Override
  public String toString() {
    return count + "*" + name;
  }
}
