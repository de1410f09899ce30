package io.sluice.spark.sql;

import io.sluice.spark.sql.RowOrder.Part;
import java.io.IOException;
import java.util.List;
import java.util.PriorityQueue;

/** Merges sorted runs of rows; of equal rows, those of an earlier run come first. One thread. */
final class MergedRows implements SortedRows {
  /** A run at one of its rows. */
  private static final class Head {
    final SortedRows rows;
    final int number;
    /** The row's number of the first part of the order. */
    long first;

    Head(SortedRows rows, int number) {
      this.rows = rows;
      this.number = number;
    }
  }

  private final RowOrder order;
  private final Part part;
  private final PriorityQueue<Head> heads;
  /** The run of the current row, which is not among {@link #heads}; null before the first row. */
  private Head current;

  MergedRows(RowOrder order, List<? extends SortedRows> runs) throws IOException {
    this.order = order;
    this.part = order.first();
    this.heads = new PriorityQueue<>(Math.max(1, runs.size()), this::compare);
    for (int i = 0; i < runs.size(); i++) {
      advance(new Head(runs.get(i), i));
    }
  }

  private int compare(Head left, Head right) {
    int compared = Long.compareUnsigned(left.first, right.first);
    if (compared == 0) {
      int column = order.undecided(part, left.first);
      compared = order.isEnd(column) ? 0
          : order.compare(left.rows.base(), left.rows.offset(), left.rows.bytes(),
              right.rows.base(), right.rows.offset(), right.rows.bytes(), column);
    }
    return compared != 0 ? compared : Integer.compare(left.number, right.number);
  }

  private void advance(Head head) throws IOException {
    if (head.rows.hasNext()) {
      head.rows.loadNext();
      head.first = order.number(part, head.rows.base(), head.rows.offset(), head.rows.bytes());
      heads.add(head);
    }
  }

  @Override
  public boolean hasNext() {
    return !heads.isEmpty() || current != null && current.rows.hasNext();
  }

  @Override
  public void loadNext() throws IOException {
    if (current != null) {
      advance(current);
    }
    current = heads.poll();
  }

  @Override
  public Object base() {
    return current.rows.base();
  }

  @Override
  public long offset() {
    return current.rows.offset();
  }

  @Override
  public int bytes() {
    return current.rows.bytes();
  }
}
