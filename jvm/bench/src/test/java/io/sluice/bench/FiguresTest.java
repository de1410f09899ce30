package io.sluice.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.catalogue.Catalogue;
import io.sluice.bench.report.FigurePart;
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
  void everyPartsCommandIsOneOfOurs(FigurePart part) {
    CommandLine.ParseResult parsed = Main.commandLine().parseArgs(part.command().toArray(String[]::new));
    assertEquals(part.command().get(0), parsed.subcommand().commandSpec().name());
    parsed.subcommand().matchedPositionals().stream().flatMap(workloads -> workloads.stringValues().stream()).distinct()
        .forEach(workload -> assertFalse(Catalogue.named(workload).isEmpty(), workload));
    assertEquals(part, FigurePart.named(part.label()));
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
