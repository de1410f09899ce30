package io.sluice.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.catalogue.Catalogue;
import io.sluice.bench.protocol.Json;
import io.sluice.bench.report.FigurePart;
import io.sluice.bench.report.PerftestResults;
import io.sluice.bench.report.PublishedFigures;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import picocli.CommandLine;

/** {@code ./sluice figures}: the figures on the published pages are exactly those of the committed results. */
class FiguresTest {

  private static final Path ROOT = Path.of("../..");
  private static final Path COMMITTED = ROOT.resolve("bench/results");

  @TempDir private Path folder;

  @Test
  void thePublishedPagesAreWhatTheCommittedResultsGive() throws IOException {
    PublishedFigures figures = new PublishedFigures(COMMITTED);
    for (String page : FiguresCommand.PAGES) {
      String text = Files.readString(ROOT.resolve(page));
      assertEquals(figures.rewritten(text), text, page + " differs from its results: ./sluice figures --rewrite");
    }
    String page = Files.readString(ROOT.resolve("docs/figures.md"));
    for (String section : List.of("demo", "workloads", "tpch", "tpcds", "cold")) {
      assertTrue(page.contains("<!-- figures: " + section + " "), section);
    }
  }

  @Test
  void anotherResultMakesAnotherPage() throws IOException {
    String page = "# Title\n<!-- figures: workloads (x) -->\nold\n<!-- end of figures -->\nend $1\n";
    String committed = new PublishedFigures(COMMITTED).rewritten(page);
    for (String file : List.of("rdd.json", "sql.json")) {
      Files.copy(COMMITTED.resolve(file), folder.resolve(file));
    }
    Path sql = folder.resolve("sql.json");
    Files.writeString(sql, Files.readString(sql).replaceAll("\"median_s\": [0-9.]+", "\"median_s\": 77.0"));
    String changed = new PublishedFigures(folder).rewritten(page);
    assertNotEquals(committed, changed);
    assertFalse(committed.contains("| 77.0 s |"), committed);
    assertTrue(changed.contains("| 77.0 s | 77.0 s | **1.00** |"), changed);
    assertTrue(changed.startsWith("# Title\n<!-- figures: workloads (x) -->\n| workload |"), changed);
    assertTrue(changed.endsWith("\n<!-- end of figures -->\nend $1\n"), changed);
    assertEquals(changed, new PublishedFigures(folder).rewritten(changed));
  }

  @Test
  void goalsSayWhetherTheyAreMet() {
    String page = new PublishedFigures(COMMITTED).rewritten("<!-- figures: goals -->\n\n<!-- end of figures -->");
    assertTrue(page.matches("(?s).*\\| `wordcount` \\| 2.2 \\| \\*\\*[0-9.]+\\*\\* \\| (met|not met) \\|.*"), page);
  }

  @Test
  void aPartThatWasNeverMeasuredSaysSo() {
    assertEquals("<!-- figures: cold -->\nNot measured yet: `./sluice figures --only cold`.\n<!-- end of figures -->",
        new PublishedFigures(folder).rewritten("<!-- figures: cold -->\n<!-- end of figures -->"
            .replace("-->\n<", "-->\nx\n<")));
  }

  @Test
  void perftestsFiguresStandBesideBareUcxAndThoseOfJobsBesidePerftest() throws IOException {
    String section = "<!-- figures: %s -->\nx\n<!-- end of figures -->";
    assertTrue(new PublishedFigures(folder).rewritten(String.format(section, "reads"))
        .contains("`./sluice figures --only perftest-jobs,reads,reads-tcp`"));
    Path rows = folder.resolve("rows.json");
    Files.writeString(rows, "[{\"gets\": 8, \"latency_us\": 12.34, \"library_latency_us\": 7.0, "
        + "\"library_mb_per_s\": 2000.0, \"mb_per_s\": 1700.0, \"owner_cpu\": 0.25, \"ratio_vs_library\": 0.85, "
        + "\"ratio_vs_wire\": 0.9, \"size\": 65536, \"transport\": \"tcp\", \"window\": null, "
        + "\"wire_mb_per_s\": 1888.9}, {\"gets\": null, \"window\": 32, \"latency_us\": 1.0, \"mb_per_s\": 1000.0, "
        + "\"owner_cpu\": 0, \"size\": 1048576, \"transport\": \"cma\", \"library_mb_per_s\": null}]");
    for (FigurePart part : List.of(FigurePart.PERFTEST, FigurePart.PERFTEST_JOBS)) {
      Path file = folder.resolve(part.file());
      Files.createDirectories(file.getParent());
      Files.writeString(file, Json.pretty(PerftestResults.of(rows, part.command())));
    }
    PublishedFigures figures = new PublishedFigures(folder);
    String table = figures.rewritten(String.format(section, "perftest"));
    assertTrue(table.contains(
        "\n| tcp | 64 KiB | 8 | 1,700 | 2,000 | **0.85** | 0.90 | not met | 12.3 us (7.0) | 0.90 | 0.25 |\n"), table);
    assertTrue(table.contains("\n| cma | 1 MiB | window of 32 | 1,000 |  |  |  |  | 1.0 us |  | 0.00 |\n"), table);
    assertTrue(table.contains("`./sluice perftest --self --transports cma,shm,tcp --sizes 8k,64k,1m,16m --gets 1,8`"),
        table);
    assertEquals(1, figures.environments(FigurePart.PERFTEST).size());
    Files.writeString(folder.resolve(FigurePart.PERFTEST.file()), "{}");
    assertTrue(assertThrows(IllegalArgumentException.class,
        () -> figures.rewritten(String.format(section, "perftest"))).getMessage().contains("perftest.json: not the"));
  }

  @Test
  void sectionsThatCannotBeMadeAreRefused() {
    PublishedFigures figures = new PublishedFigures(folder);
    assertTrue(assertThrows(IllegalArgumentException.class,
        () -> figures.rewritten("<!-- figures: speed -->\nx\n<!-- end of figures -->")).getMessage()
        .contains("no section of figures called 'speed'"));
    assertTrue(assertThrows(IllegalArgumentException.class,
        () -> figures.rewritten("<!-- figures: cold -->\nx\n")).getMessage().contains("has no line"));
  }

  /** Checks the command of every part, because a wrong one would otherwise fail only after an hour of measuring. */
  @ParameterizedTest
  @EnumSource
  void everyPartsCommandIsOneOfOurs(FigurePart part) throws IOException {
    assertEquals(List.of(part), FigurePart.named(part.label()));
    if (part.isPerftests()) {
      String program = Files.readString(ROOT.resolve("native/crates/perftest/src/main.rs"));
      part.command().stream().filter(argument -> argument.startsWith("--") && !argument.equals("--self"))
          .forEach(option -> assertTrue(program.contains(" " + option.substring(2) + ": "), option));
      return;
    }
    CommandLine.ParseResult parsed = Main.commandLine().parseArgs(part.command().toArray(String[]::new));
    assertEquals(part.command().get(0), parsed.subcommand().commandSpec().name());
    parsed.subcommand().matchedPositionals().stream().flatMap(workloads -> workloads.stringValues().stream()).distinct()
        .forEach(workload -> assertFalse(Catalogue.named(workload).isEmpty(), workload));
  }

  @Test
  void partsThatAreUnknownOrContradictAreRefused() {
    assertTrue(
        refused("figures", "--only", "sql,speed").contains("unknown part 'speed'; known are sql, sql-more, rdd"));
    assertTrue(refused("figures", "--only", "sql", "--rewrite").contains("leave out --only"));
  }

  private static String refused(String... arguments) {
    StringWriter output = new StringWriter();
    assertEquals(2, Main.commandLine().setErr(new PrintWriter(output, true)).execute(arguments));
    return output.toString();
  }
}
