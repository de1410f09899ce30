package io.sluice.bench.soak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is concluded from samples, on made-up ones of two hours, one a minute. */
class EnduranceTest {

  private static final int MINUTES = 120;

  @TempDir private Path folder;

  @Test
  void whatVariesAroundAValueIsFlat() throws IOException {
    Endurance endurance = Endurance.read(samples(0, 0.005, 7));
    String text = String.join("\n", endurance.lines());
    assertTrue(endurance.holds(), text);
    assertTrue(endurance.lines().stream().anyMatch(
        line -> line.matches("  sluice  executor-7 +rss_mib +flat +median \\d+, .*%.* an hour")), text);
    // Driver and executor have five figures, the folder one; two engines.
    assertEquals(2 * (5 + 5 + 1), endurance.lines().size());
  }

  @Test
  void fivePercentAnHourIsGrowth() throws IOException {
    Endurance endurance = Endurance.read(samples(0.05, 0.005, 7));
    assertFalse(endurance.holds());
    assertTrue(endurance.lines().stream().anyMatch(line -> line.matches("  sluice  executor-7 +rss_mib +grows .*")),
        () -> String.join("\n", endurance.lines()));
    assertTrue(endurance.lines().stream().noneMatch(line -> line.startsWith("  stock") && line.contains("grows")));
  }

  @Test
  void whatStockRisesByIsNotSluices() throws IOException {
    Endurance endurance = Endurance.read(samples(0.05, 0.05, 0.005, 7));
    String text = String.join("\n", endurance.lines());
    assertTrue(endurance.holds(), text);
    assertTrue(endurance.lines().stream().anyMatch(
        line -> line.matches("  sluice  executor-7 +rss_mib +as stock +median .*")), text);
    assertTrue(endurance.lines().stream().anyMatch(line -> line.matches("  stock   executor-7 +rss_mib +grows .*")),
        text);
    assertFalse(Endurance.read(samples(0.05, 0.02, 0.005, 7)).holds(), "three percent more");
  }

  @Test
  void whatVariesTooMuchIsUndecidedAndTheFirstQuarterDoesNotCount() {
    double[] hours = new double[MINUTES];
    double[] wild = new double[MINUTES];
    double[] warming = new double[MINUTES];
    Random random = new Random(3);
    for (int i = 0; i < MINUTES; i++) {
      hours[i] = i / 60.0;
      wild[i] = 1_000 + 300 * random.nextGaussian();
      warming[i] = i < MINUTES / 4 ? 10 * i : 300;
    }
    assertEquals(Trend.Verdict.UNDECIDED, Trend.of(hours, wild).verdict());
    assertEquals(Trend.Verdict.FLAT, Trend.of(hours, warming).verdict());
    assertEquals(Trend.Verdict.UNDECIDED, Trend.of(new double[] {1, 2}, new double[] {5, 5}).verdict(), "two samples");
    assertEquals(Trend.Verdict.FLAT, Trend.of(hours, new double[MINUTES]).verdict(), "zeros");
    assertEquals(Trend.Verdict.UNDECIDED, Trend.of(new double[0], new double[0]).verdict(), "none");
  }

  @Test
  void whatCannotBeDecidedProvesNothing() throws IOException {
    Endurance endurance = Endurance.read(samples(0, 0.3, 7));
    assertFalse(endurance.holds());
    assertTrue(endurance.lines().stream().noneMatch(line -> line.startsWith("  sluice") && line.contains("grows")));
  }

  @Test
  void anExecutorThatWasReplacedEndsTheProof() throws IOException {
    Path csv = samples(0, 0.005, 7);
    Files.writeString(csv, Files.readString(csv) + "7300,1,sluice,730,executor-9,500,0,60,300,900,,\n"
        + "7300,1,sluice,730,executor-11,500,0,60,300,900,,\n");
    Endurance endurance = Endurance.read(csv);
    assertFalse(endurance.holds());
    assertTrue(endurance.lines().contains("  sluice: executors were replaced: 3 instead of 2"));
  }

  @Test
  void thePictureHasEveryProcess() throws IOException {
    String picture = Endurance.read(samples(0, 0.005, 7)).picture();
    assertTrue(picture.startsWith("<svg"), picture.substring(0, 50));
    for (String text : List.of("sluice, executor 1", "stock, driver", "minutes", "open files", "mappings")) {
      assertTrue(picture.contains(text), text);
    }
  }

  @Test
  void whatIsNoSampleIsNamed() throws IOException {
    Path csv = folder.resolve("x.csv");
    Files.writeString(csv, "a,b\n");
    assertTrue(refused(csv).contains("the first line is not second,application"));
    Files.writeString(csv, Samples.HEADER + "\n1,1,stock,1,driver,x,0,0,0,0,,\n");
    assertTrue(refused(csv).contains("line 2 is not a sample: 1,1,stock"));
    Files.writeString(csv, Samples.HEADER + "\n1,1,stock\n");
    assertTrue(refused(csv).contains("line 2 is not a sample"));
    assertTrue(refused(folder.resolve("none.csv")).contains("none.csv: cannot be read"));
  }

  /** This process and a folder, as the soak samples them. */
  @Test
  void aLiveProcessIsSampled() throws IOException {
    Path csv = folder.resolve("live.csv");
    Files.createDirectory(folder.resolve("files"));
    Files.writeString(folder.resolve("files/one"), "x");
    try (Samples samples = new Samples(csv)) {
      samples.add("3600,1,sluice,10", List.of(ProcessHandle.current()), folder.resolve("files"));
    }
    List<Endurance.Figure> figures = Endurance.read(csv).figures();
    assertEquals(List.of("rss_mib", "pinned_kib", "threads", "descriptors", "mappings", "files", "file_mib"),
        figures.stream().map(Endurance.Figure::name).toList());
    for (int i : new int[] {0, 2, 3, 4}) {
      assertTrue(figures.get(i).values()[0] > 5, figures.get(i).name());
    }
    assertEquals(1, figures.get(5).values()[0]);
    assertEquals(1, figures.get(0).hours()[0]);
  }

  private static String refused(Path csv) {
    return assertThrows(IllegalArgumentException.class, () -> Endurance.read(csv)).getMessage();
  }

  /** Sluice's executor grows by {@code growth} an hour; all resident memory varies by {@code noise} of itself. */
  private Path samples(double growth, double noise, int executor) throws IOException {
    return samples(growth, 0, noise, executor);
  }

  /** The same, and stock's grows by {@code ofStock}. */
  private Path samples(double growth, double ofStock, double noise, int executor) throws IOException {
    Random random = new Random(1);
    StringBuilder text = new StringBuilder(Samples.HEADER).append('\n');
    for (int minute = 0; minute < MINUTES; minute++) {
      for (String engine : List.of("stock", "sluice")) {
        String when = minute * 60 + ",1," + engine + "," + 10 * minute;
        double grown = 1 + (engine.equals("sluice") ? growth : ofStock) * minute / 60;
        text.append(process(when, "driver", 900 * (1 + noise * random.nextGaussian())))
            .append(process(when, "executor-" + executor, 1_500 * grown * (1 + noise * random.nextGaussian())))
            .append(when).append(",folder,,,,,,12,3\n");
      }
    }
    return Files.writeString(folder.resolve("samples.csv"), text);
  }

  private static String process(String when, String name, double rss) {
    return String.format(Locale.ROOT, "%s,%s,%d,0,60,300,900,,%n", when, name, Math.round(rss));
  }
}
