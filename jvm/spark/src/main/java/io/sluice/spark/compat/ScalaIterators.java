package io.sluice.spark.compat;

import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** Java iterators as Scala ones, without the converters, whose names differ between Scala 2.12 and 2.13. */
public final class ScalaIterators {
  private ScalaIterators() {}

  public static <T> Iterator<T> of(java.util.Iterator<? extends T> elements) {
    return new AbstractIterator<T>() {
      @Override
      public boolean hasNext() {
        return elements.hasNext();
      }

      @Override
      public T next() {
        return elements.next();
      }
    };
  }
}
