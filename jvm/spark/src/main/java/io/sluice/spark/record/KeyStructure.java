package io.sluice.spark.record;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The classes that a key is made of: one class, or a tuple and the structures of its parts. Text is one class, whatever
 * its characters. Immutable.
 */
public final class KeyStructure {
  /** The tag of the class ({@link NestedTag}); of a tuple also the number of its parts, then their tags. */
  private final byte[] tags;
  private final List<KeyStructure> elements;

  /** @param tags of one value */
  static KeyStructure of(byte[] tags) {
    KeyStructure whole = of(tags, 0);
    if (whole.tags.length != tags.length) {
      throw new IllegalArgumentException("tags of more than one key: " + Arrays.toString(tags));
    }
    return whole;
  }

  private static KeyStructure of(byte[] tags, int from) {
    List<KeyStructure> elements = new ArrayList<>();
    int end = from + 1;
    if (isTuple(tags[from])) {
      int count = tags[end++];
      for (int i = 0; i < count; i++) {
        KeyStructure element = of(tags, end);
        elements.add(element);
        end += element.tags.length;
      }
    }
    return new KeyStructure(Arrays.copyOfRange(tags, from, end), elements);
  }

  private KeyStructure(byte[] tags, List<KeyStructure> elements) {
    this.tags = tags;
    this.elements = List.copyOf(elements);
  }

  /** Whether {@code tag} is that of a tuple, {@link NestedTag#TUPLE} for each number of parts. */
  private static boolean isTuple(int tag) {
    return tag == NestedTag.TUPLE;
  }

  /** Whether the key is a tuple. */
  public boolean isTuple() {
    return isTuple(tags[0]);
  }

  /** The structures of a tuple's elements; none of another class. */
  public List<KeyStructure> elements() {
    return elements;
  }

  /** How many {@link KeyPart}s a key has. */
  public int parts() {
    return isTuple() ? elements.stream().mapToInt(KeyStructure::parts).sum() : hasTwoParts(tags[0]) ? 2 : 1;
  }

  private static boolean hasTwoParts(int tag) {
    return switch (tag) {
      case NestedTag.TIMESTAMP, NestedTag.INSTANT, NestedTag.UUID, NestedTag.LOCAL_DATE_TIME, NestedTag.DURATION ->
          true;
      default -> false;
    };
  }

  /** Whether the key is an array of bytes, which has no natural order. */
  public boolean isByteArray() {
    return tags[0] == NestedTag.BYTES;
  }

  /**
   * Whether the class's {@code compareTo} compares part by part: numbers with their sign, fractions as {@code
   * Double.compare} does, text by its units, bytes without a sign. Hadoop's writable fractions have compared otherwise
   * in some of its versions.
   */
  public boolean comparesByParts() {
    return !isTuple() && !isByteArray() && tags[0] != NestedTag.FLOAT_WRITABLE && tags[0] != NestedTag.DOUBLE_WRITABLE;
  }

  /** Whether keys of this structure have the first {@code count} of {@code others}. */
  boolean has(byte[] others, int count) {
    return count == tags.length && Arrays.equals(tags, 0, count, others, 0, count);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof KeyStructure && Arrays.equals(tags, ((KeyStructure) other).tags);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(tags);
  }

  @Override
  public String toString() {
    return isTuple() ? elements.toString() : "tag " + tags[0];
  }
}
