package io.sluice.spark.sql;

import java.io.Serializable;
import java.util.List;

// stub
public final class RowOrder implements Serializable {
  private static final long serialVersionUID = 1;

  public RowOrder(List<SortColumn> columns, int fields) {}
}
