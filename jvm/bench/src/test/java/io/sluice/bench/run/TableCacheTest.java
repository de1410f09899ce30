package io.sluice.bench.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.sluice.bench.tables.Benchmark;
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

  @TempDir private Path folder;

  private final List<String> made = new ArrayList<>();

  @Test
  void tablesAreMadeOncePerScale() {
    TableCache cache = new TableCache(folder);
    assertEquals(folder.resolve("sf0.1").toString(), cache.tables(Benchmark.TPCH, 0.1, this::make).folder());
    cache.tables(Benchmark.TPCH, 0.1, this::make);
    new TableCache(folder).tables(Benchmark.TPCH, 0.1, this::make);
    cache.tables(Benchmark.TPCH, 10, this::make);
    assertEquals(List.of("sf0.1", "sf10"), made);
  }

  @Test
  void anInterruptedGenerationIsRedoneInAnEmptyFolder() {
    TableCache cache = new TableCache(folder);
    assertThrows(EngineFailure.class, () -> cache.tables(Benchmark.TPCH, 1, tables -> {
      write(tables, "orders/part-0");
      throw new EngineFailure("killed");
    }));
    cache.tables(Benchmark.TPCH, 1, tables -> {
      assertFalse(Files.exists(Path.of(tables.folder(), "orders")));
      make(tables);
    });
    cache.tables(Benchmark.TPCH, 1, this::make);
    assertEquals(List.of("sf1"), made);
  }

  @Test
  void tablesOfAnotherVersionAreMadeAnew() throws IOException {
    TableCache cache = new TableCache(folder);
    cache.tables(Benchmark.TPCH, 1, this::make);
    Files.writeString(folder.resolve("sf1/COMPLETE"), "0");
    cache.tables(Benchmark.TPCH, 1, this::make);
    assertEquals(List.of("sf1", "sf1"), made);
  }

  private void make(TableFiles tables) {
    made.add(Path.of(tables.folder()).getFileName().toString());
    write(tables, "orders/part-0");
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
