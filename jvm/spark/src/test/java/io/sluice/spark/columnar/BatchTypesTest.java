package io.sluice.spark.columnar;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
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

  @Test
  void aBatchMayHaveNoColumns() {
    assertEquals(Optional.of(""), BatchTypes.of(new StructType()));
  }
}
