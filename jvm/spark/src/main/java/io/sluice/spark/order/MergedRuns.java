package io.sluice.spark.order;

import java.util.Comparator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.PriorityQueue;
import scala.Product2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** Merges sorted runs of records by key; of records with equal keys, those of an earlier run come first. One thread. */
final class MergedRuns<K, C> extends AbstractIterator<Product2<K, C>> {
  /** The next record of a run. */
  private final class Head {
    final Iterator<Product2<K, C>> run;
    final int number;
    Product2<K, C> record;

    Head(Iterator<Product2<K, C>> run, int number) {
      this.run = run;
      this.number = number;
    }

    boolean advance() {
      record = run.hasNext() ? run.next() : null;
      return record != null;
    }
  }

  private final PriorityQueue<Head> heads;
  /** The run of the record that was returned last: it is put back when the next is asked for. */
  private Head last;

  /** @param runs each sorted by {@code comparator} */
  MergedRuns(List<Iterator<Product2<K, C>>> runs, Comparator<? super K> comparator) {
    Comparator<Head> byKey = (left, right) -> comparator.compare(left.record._1(), right.record._1());
    heads = new PriorityQueue<>(Math.max(1, runs.size()), byKey.thenComparingInt(head -> head.number));
    for (int i = 0; i < runs.size(); i++) {
      add(new Head(runs.get(i), i));
    }
  }

  private void add(Head head) {
    if (head.advance()) {
      heads.add(head);
    }
  }

  @Override
  public boolean hasNext() {
    putBack();
    return !heads.isEmpty();
  }

  @Override
  public Product2<K, C> next() {
    putBack();
    last = heads.poll();
    if (last == null) {
      throw new NoSuchElementException("no more records in this shuffle partition");
    }
    return last.record;
  }

  private void putBack() {
    Head head = last;
    if (head != null) {
      last = null;
      add(head);
    }
  }
}
