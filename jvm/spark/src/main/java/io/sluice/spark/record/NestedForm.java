package io.sluice.spark.record;

import java.util.List;

/**
 * How objects of some classes are written behind their tag, and made again. Those of the most frequent classes are
 * written by {@link NestedWriter} itself. Immutable, any thread.
 */
abstract class NestedForm {
  private final int tag;
  private final List<Class<?>> classes;

  /** @param classes none where Scala's version has none, or the JVM does not open what must be known of them */
  NestedForm(int tag, List<Class<?>> classes) {
    this.tag = tag;
    this.classes = classes;
  }

  /** Of {@link NestedTag}. */
  final int tag() {
    return tag;
  }

  final List<Class<?>> classes() {
    return classes;
  }

  /** Writes what follows the tag; false when this object is left to the serializer. */
  abstract boolean write(NestedWriter out, Object value, int depth);

  /** Reads what {@link #write} has written. */
  abstract Object read(NestedReader in, int depth);

  /** An object of one of the {@link #classes}, in which the order and each part matter. */
  abstract Object sample(Class<?> type);

  /** Whether it refers to other objects, or can change: the same one twice is not the same as two. */
  boolean hasIdentity(Object value) {
    return true;
  }

  /** Whether it is made of values that are looked up as objects of their own. */
  boolean hasValues() {
    return true;
  }

  /** Whether Java's serializer gives it back. */
  boolean isSerializable() {
    return true;
  }
}
