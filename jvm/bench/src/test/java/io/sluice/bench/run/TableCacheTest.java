package io.sluice.bench.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.tables.Benchmark;
import io.sluice.bench.tables.GeneratedTable;
import io.sluice.bench.tables.TableFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TableCacheTest {

  private static final List<String> ALL =
      Benchmark.TPCH.tables().stream().map(GeneratedTable::label).toList();

  @TempDir private Path folder;

  private final List<String> made = new ArrayList<>();

  @Test
  void tablesAreMadeOncePerScale() {
    TableFiles small = tables(0.1);
    assertEquals(folder.resolve("sf0.1").toString(), small.folder());
    ensure(small, List.of("orders"));
    ensure(small, List.of("orders"));
    ensure(tables(10), List.of("orders"));
    assertEquals(List.of("sf0.1/orders", "sf10/orders"), made);
  }

  @Test
  void onlyTheTablesThatAreWantedAndMissingAreMade() throws IOException {
    TableFiles tables = tables(1);
    ensure(tables, List.of("orders", "nation"));
    ensure(tables, List.of("nation", "region"));
    assertEquals(List.of("sf1/orders", "sf1/nation", "sf1/region"), made);
    assertTrue(Files.exists(folder.resolve("sf1/orders/part-0")), "a later generation leaves earlier tables alone");
    made.clear();
    ensure(tables, ALL);
    assertEquals(ALL.size() - 3, made.size());
    assertEquals(Benchmark.TPCH.version(), Files.readString(folder.resolve("sf1/COMPLETE")));
    ensure(tables, ALL);
    assertEquals(ALL.size() - 3, made.size());
  }

  @Test
  void anInterruptedGenerationIsRedoneInAnEmptyFolder() {
    TableFiles tables = tables(1);
    ensure(tables, List.of("nation"));
    assertThrows(EngineFailure.class, () -> new TableCache(tables).ensure(List.of("orders"), missing -> {
      write(tables, "orders/part-0");
      throw new EngineFailure("killed");
    }));
    new TableCache(tables).ensure(List.of("orders"), missing -> {
      assertEquals(List.of("orders"), missing);
      assertFalse(Files.exists(folder.resolve("sf1/orders")), "what is left of the interrupted generation");
      assertTrue(Files.exists(folder.resolve("sf1/nation")), "what was whole before it");
      made.add("again");
    });
    assertEquals(List.of("sf1/nation", "again"), made);
  }

  @Test
  void tablesOfAnotherVersionAreMadeAnew() throws IOException {
    ensure(tables(1), List.of("orders", "nation"));
    Files.writeString(folder.resolve("sf1/COMPLETE"), "0\norders\nnation");
    made.clear();
    ensure(tables(1), List.of("orders"));
    assertEquals(List.of("sf1/orders"), made);
    assertFalse(Files.exists(folder.resolve("sf1/nation")), "a table of the other version");
  }

  /** The marker of versions that made all tables or none has no names. */
  @Test
  void aMarkerWithoutNamesMeansAllTables() throws IOException {
    Files.createDirectories(folder.resolve("sf1"));
    Files.writeString(folder.resolve("sf1/COMPLETE"), Benchmark.TPCH.version());
    ensure(tables(1), ALL);
    assertEquals(List.of(), made);
  }

  private TableFiles tables(double scale) {
    return TableFiles.below(folder, Benchmark.TPCH, scale);
  }

  private void ensure(TableFiles tables, List<String> wanted) {
    new TableCache(tables).ensure(wanted, missing -> missing.forEach(name -> {
      made.add(Path.of(tables.folder()).getFileName() + "/" + name);
      write(tables, name + "/part-0");
    }));
  }

  private static void write(TableFiles tables, String file) {
    Path path = Path.of(tables.folder(), file);
    try {
      Files.createDirectories(path.getParent());
      Files.writeString(path, "rows");
    } catch (IOException e) {
      throw new UncheckedIOException("the test's file", e);
    }
  }
}
