package io.sluice.spark.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Pages of a table, by addresses that make sense and by those that do not. */
class TableRequestTest {
  private static final List<Integer> ROWS = IntStream.range(0, 10_000).boxed().collect(Collectors.toList());

  private static List<Integer> page(Map<String, String> parameters) {
    return TableRequest.of(parameters::get, "id").within(ROWS.size()).page(ROWS);
  }

  @Test
  void noAddressMakesAPageOfMoreThanFiveHundredRows() {
    for (String size : List.of("500", "501", "1000", "10000", "2147483647")) {
      assertEquals(ROWS.subList(500, 1_000), page(Map.of("size", size, "page", "2")), size);
    }
  }

  @Test
  void whatMakesNoSenseIsReplaced() {
    for (String size : List.of("0", "-1", "x", "", "99999999999")) {
      assertEquals(ROWS.subList(0, 100), page(Map.of("size", size, "page", "nowhere")), size);
    }
    assertEquals(ROWS.subList(9_900, 10_000), page(Map.of("page", "2147483647")));
  }
}
