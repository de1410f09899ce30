package io.sluice.spark.order;

import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Supplier;
import scala.Product2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** The records of one run after those of another; a run is opened when the one before it is at its end. One thread. */
final class RunsInTurn<K, C> extends AbstractIterator<Product2<K, C>> {
  private final java.util.Iterator<Supplier<Iterator<Product2<K, C>>>> runs;
  private Iterator<Product2<K, C>> run;

  RunsInTurn(List<Supplier<Iterator<Product2<K, C>>>> runs) {
    this.runs = runs.iterator();
  }

  @Override
  public boolean hasNext() {
    while ((run == null || !run.hasNext()) && runs.hasNext()) {
      run = runs.next().get();
    }
    return run != null && run.hasNext();
  }

  @Override
  public Product2<K, C> next() {
    if (!hasNext()) {
      throw new NoSuchElementException("no more records");
    }
    return run.next();
  }
}
