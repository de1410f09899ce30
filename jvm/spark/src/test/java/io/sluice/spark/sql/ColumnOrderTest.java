package io.sluice.spark.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.spark.sql.RowOrder.Part;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

class ColumnOrderTest {
  private static final Part FIRST = new Part(0, 0, true);

  @Test
  void numbersGoOnBehindBytesThatAreEqual() {
    ColumnOrder text = order(DataTypes.StringType, false);
    assertEquals(new Part(0, 5, false), text.behind(FIRST, 0, 5 * Byte.SIZE + 7));
    assertEquals(new Part(0, 13, false), text.behind(new Part(0, 8, false), 0, 5 * Byte.SIZE));
    assertEquals(FIRST, text.behind(FIRST, 0, 2 * Byte.SIZE - 1), "one byte is not worth it");
    assertEquals(FIRST, order(DataTypes.LongType, false).behind(FIRST, 0, 32));
  }

  @Test
  void theMarkerIsNoPartOfTheBytes() {
    ColumnOrder text = order(DataTypes.StringType, true);
    long value = Long.MIN_VALUE;
    assertEquals(new Part(0, 2, false), text.behind(FIRST, value, 1 + 2 * Byte.SIZE));
    assertEquals(FIRST, text.behind(FIRST, value, 2 * Byte.SIZE));
    assertEquals(FIRST, text.behind(FIRST, 0, Long.SIZE), "nulls have no bytes");
  }

  private static ColumnOrder order(DataType type, boolean nullable) {
    return new ColumnOrder(List.of(SortColumn.of(type, 0, nullable, false, true).orElseThrow()), 1);
  }
}
