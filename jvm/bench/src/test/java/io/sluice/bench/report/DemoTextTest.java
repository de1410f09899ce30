package io.sluice.bench.report;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.check.Digest;
import io.sluice.bench.protocol.RunMetrics;
import io.sluice.bench.run.Engine;
import io.sluice.bench.run.Hosts;
import io.sluice.bench.run.Master;
import io.sluice.bench.run.Measurement;
import io.sluice.bench.run.Site;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DemoTextTest {

  private static final Digest DIGEST = new Digest(10, 1, 2, true);
  private static final Environment ENVIRONMENT =
      Environment.here(List.of("demo"), Site.of(Master.parse("local[2]", 1)), Map.of(), 8, 0, null);

  @Test
  void everyJobHasALineWithBothEnginesFigures() {
    List<BenchResult> results = new ArrayList<>(job("terasort", DIGEST, 6, 2));
    results.addAll(job("join", DIGEST, 9, 6));
    String text = DemoText.table(results);
    List<String> lines = text.lines().map(line -> line.replaceAll(" +", " ")).toList();
    assertTrue(lines.contains("terasort 6.0 2.0 3.00 12.0 4.0 6.0 2.0 yes"), text);
    assertTrue(lines.contains("join 9.0 6.0 1.50 18.0 12.0 9.0 6.0 yes"), text);
    assertTrue(text.endsWith("All outputs are equal."), text);
  }

  @Test
  void aDifferingOutputIsSaidInTheLineAndAtTheEnd() {
    List<BenchResult> results = new ArrayList<>(job("terasort", DIGEST, 6, 2));
    results.addAll(job("join", new Digest(10, 1, 3, true), 9, 6));
    String text = DemoText.table(results);
    assertTrue(text.replaceAll(" +", " ").contains("join 9.0 6.0 1.50 18.0 12.0 9.0 6.0 NO\n"), text);
    assertTrue(text.endsWith("Outputs are WRONG: see below."), text);
  }

  @Test
  void theIntroductionSaysWhatEachJobDoesAndWhatWarmsUp() {
    String text = introduction(null);
    for (String part : List.of("terasort     RDD of", "repartition  DataFrame of", "join         the same", "500 MB",
        "with two executor processes of one core for", "Warm-up: each job first runs once")) {
      assertTrue(text.contains(part), text);
    }
  }

  @Test
  void onAClusterItSaysHowManyHosts() {
    String text = introduction(Hosts.parse("3", "1gbit", null, null));
    assertTrue(text.contains("with an executor of 1 core(s) on each of 3 hosts for"), text);
  }

  private static String introduction(Hosts hosts) {
    Site site = new Site(Master.parse("local[2]", 1), hosts, Map.of(), List.of(), null, null, null);
    return DemoText.introduction(List.of("terasort", "repartition", "join"), 500_000_000, "4.2.0", site);
  }

  private static List<BenchResult> job(String name, Digest onSluice, double stockS, double sluiceS) {
    return BenchResult.of(name, "4.2.0", 10, List.of(new Measurement(Engine.STOCK, DIGEST, List.of(run(stockS))),
        new Measurement(Engine.SLUICE, onSluice, List.of(run(sluiceS)))), ENVIRONMENT);
  }

  private static RunMetrics run(double wallS) {
    return new RunMetrics(wallS, (long) (wallS * 1e6), 1, 10, 0, wallS, 0, 0, 2 * wallS, 0, List.of(), null, null);
  }
}
