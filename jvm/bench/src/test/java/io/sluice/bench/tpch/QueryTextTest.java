package io.sluice.bench.tpch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.check.SortColumn;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class QueryTextTest {

  private static final Set<Integer> SINGLE_ROWS = Set.of(6, 14, 17, 19);

  @Test
  void theLastOrderByIsTheResults() {
    assertEquals(List.of(new SortColumn("s_acctbal", true), SortColumn.ascending("n_name"),
        SortColumn.ascending("s_name"), SortColumn.ascending("p_partkey")), QueryText.of(2, 1).order());
    assertEquals(List.of(SortColumn.ascending("nation"), new SortColumn("o_year", true)), QueryText.of(9, 1).order());
    for (int number = 1; number <= QueryText.QUERIES; number++) {
      assertEquals(SINGLE_ROWS.contains(number), QueryText.of(number, 1).order().isEmpty(), "query " + number);
    }
  }

  @Test
  void queryElevensFractionFallsAsTablesGrow() {
    assertTrue(QueryText.of(11, 1).sql().contains("* 0.0001\n"));
    assertTrue(QueryText.of(11, 0.01).sql().contains("* 0.01\n"));
    assertTrue(QueryText.of(11, 30).sql().contains("* 0.000003333333\n"));
  }

  @Test
  void noParameterIsLeft() {
    for (int number = 1; number <= QueryText.QUERIES; number++) {
      assertFalse(QueryText.of(number, 1).sql().matches("(?s).*\\n[^-].*[:$].*"), "query " + number);
    }
  }
}
