package io.sluice.spark.sql;

import java.io.Serializable;
import java.util.Optional;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

// stub
public final class SortColumn implements Serializable {
  private static final long serialVersionUID = 1;

  private SortColumn() {}

  public static Optional<SortColumn> of(
      DataType type, int ordinal, boolean nullable, boolean descending, boolean nullsFirst) {
    return type.equals(DataTypes.IntegerType) || type.equals(DataTypes.LongType) || type.equals(DataTypes.StringType)
        ? Optional.of(new SortColumn()) : Optional.empty();
  }
}
