package io.sluice.spark.columnar;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

class BatchTypesTest {

  @Test
  void atomicTypesHaveFormats() {
    StructType all = StructType.fromDDL("a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, "
        + "h DECIMAL(10,2), i DECIMAL(38,0), j DATE, k TIMESTAMP, l STRING, m BINARY, n TIMESTAMP_NTZ, "
        + "o INTERVAL YEAR TO MONTH, p INTERVAL DAY TO SECOND, q TIME");
    String formats = "b c s i l f g d:10,2 d:38,0 tdD tsu:UTC %s z tsu: tiM tDu ttn";
    assertEquals(Optional.of(formats.formatted("u").replace(' ', '\n')), BatchTypes.of(all));
    // Strings need not be UTF-8.
    assertEquals(formats.formatted("z").replace(' ', '\n'), BatchTypes.decoded(all));
    assertArrayEquals(new int[] {11}, BatchTypes.texts(all));
  }

  @Test
  void otherTypesGoByRows() {
    for (String type : List.of("ARRAY<INT>", "MAP<STRING, INT>", "STRUCT<x: INT>", "INTERVAL", "VARIANT")) {
      assertTrue(BatchTypes.of(StructType.fromDDL("a INT, b " + type)).isEmpty(), type);
    }
  }

  /** {@link VectorExport} is made for schemas that have formats. */
  @Test
  void everyTypeWithAFormatHasALayoutAndNoOther() {
    StructType all = StructType.fromDDL("a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, "
        + "h DECIMAL(1,0), i DECIMAL(9,9), j DECIMAL(10,0), k DECIMAL(18,2), l DECIMAL(19,2), m DECIMAL(38,38), "
        + "n DATE, o TIMESTAMP, p STRING, q BINARY, r TIMESTAMP_NTZ, s INTERVAL YEAR, t INTERVAL HOUR TO SECOND, "
        + "u TIME, v CHAR(3), w VARCHAR(3), x STRING COLLATE UTF8_LCASE, y ARRAY<INT>, z MAP<STRING, INT>, "
        + "aa STRUCT<x: INT>, ab INTERVAL, ac VARIANT, ad VOID");
    for (StructField field : all.fields()) {
      assertEquals(BatchTypes.of(new StructType().add(field)).isPresent(),
          ValueLayout.of(field.dataType()).isPresent(), field::toString);
    }
  }

  @Test
  void aBatchMayHaveNoColumns() {
    assertEquals(Optional.of(""), BatchTypes.of(new StructType()));
  }
}
