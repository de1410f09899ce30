package io.sluice.bench.soak;

import io.sluice.bench.page.LineChart;
import io.sluice.bench.page.LineChart.Line;
import io.sluice.bench.page.LineChart.Panel;
import io.sluice.bench.run.Engine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What {@link Samples} of a lasting soak say: whether memory, threads, descriptors, mappings and files stay as many.
 *
 * @param figures every figure of every process by time
 */
public record Endurance(List<Figure> figures) {

  private static final double SECONDS_PER_HOUR = 3600;
  private static final int MINUTES_PER_HOUR = 60;
  /** What the names of executors begin with. */
  private static final String EXECUTOR = "executor-";
  private static final List<String> COLUMNS = List.of(Samples.HEADER.split(","));
  private static final int ENGINE = COLUMNS.indexOf("engine");
  private static final int PROCESS = COLUMNS.indexOf("process");
  /** Of the bytes of files nothing is concluded: logs are among them. */
  private static final List<String> JUDGED =
      List.of("rss_mib", "pinned_kib", "threads", "descriptors", "mappings", "files");
  private static final Map<String, String> DRAWN = Map.of("rss_mib", "resident MiB", "descriptors", "open files",
      "mappings", "mappings", "files", "files of shuffles, logs");

  /**
   * One figure of one process.
   *
   * @param engine whose
   * @param process {@code driver}, {@code executor-PID}, or {@code folder} for the files
   * @param name of the column
   */
  public record Figure(String engine, String process, String name, double[] hours, double[] values) {
    Trend trend() {
      return Trend.of(hours, values);
    }
  }

  /**
   * Reads what {@link Samples} wrote.
   *
   * @throws IllegalArgumentException naming the file and the line that is not as it writes them
   */
  public static Endurance read(Path csv) {
    List<String> lines;
    try {
      lines = Files.readAllLines(csv);
    } catch (IOException e) {
      throw new IllegalArgumentException(csv + ": cannot be read: " + e, e);
    }
    if (lines.isEmpty() || !lines.get(0).equals(Samples.HEADER)) {
      throw new IllegalArgumentException(csv + ": not the samples of a soak: the first line is not " + Samples.HEADER);
    }
    Map<List<String>, List<double[]>> points = new LinkedHashMap<>();
    for (int line = 1; line < lines.size(); line++) {
      try {
        add(points, lines.get(line).split(",", -1));
      } catch (IndexOutOfBoundsException | NumberFormatException e) {
        throw new IllegalArgumentException(csv + ": line " + (line + 1) + " is not a sample: " + lines.get(line), e);
      }
    }
    List<Figure> figures = new ArrayList<>();
    points.forEach((key, of) -> figures.add(new Figure(key.get(0), key.get(1), key.get(2),
        of.stream().mapToDouble(point -> point[0]).toArray(), of.stream().mapToDouble(point -> point[1]).toArray())));
    return new Endurance(figures);
  }

  private static void add(Map<List<String>, List<double[]>> points, String[] cells) {
    double hour = Double.parseDouble(cells[0]) / SECONDS_PER_HOUR;
    for (int column = PROCESS + 1; column < COLUMNS.size(); column++) {
      if (!cells[column].isEmpty()) {
        points.computeIfAbsent(List.of(cells[ENGINE], cells[PROCESS], COLUMNS.get(column)), key -> new ArrayList<>())
            .add(new double[] {hour, Double.parseDouble(cells[column])});
      }
    }
  }

  /**
   * Whether every figure of Sluice's is flat, or rises no more than stock's, and none of its executors was replaced.
   * What cannot be decided is not taken for flat: a longer soak has more samples.
   */
  public boolean holds() {
    return executors(Engine.SLUICE) <= 2 && figures.stream().allMatch(figure -> !isOf(Engine.SLUICE, figure)
        || !judged(figure) || figure.trend().verdict() == Trend.Verdict.FLAT || risesAsStock(figure));
  }

  /**
   * Whether a figure of Sluice's rises no more than those of stock's processes of the same kind do on average, but for
   * what counts as flat: Spark's code that is compiled, and the classes of each query, stay in all executors.
   */
  private boolean risesAsStock(Figure figure) {
    List<Trend> ofStock = figures.stream().filter(each -> isOf(Engine.STOCK, each) && each.name().equals(figure.name())
        && kind(each.process()).equals(kind(figure.process()))).map(Figure::trend).toList();
    return !ofStock.isEmpty() && figure.trend().above(ofStock).verdict() == Trend.Verdict.FLAT;
  }

  private static boolean isOf(Engine engine, Figure figure) {
    return figure.engine().equals(engine.label());
  }

  private static String kind(String process) {
    return process.startsWith(EXECUTOR) ? EXECUTOR : process;
  }

  private String verdict(Figure figure) {
    Trend.Verdict verdict = figure.trend().verdict();
    return verdict != Trend.Verdict.FLAT && isOf(Engine.SLUICE, figure) && risesAsStock(figure) ? "as stock"
        : verdict.name().toLowerCase(Locale.ROOT);
  }

  /** A line per figure, and one per engine whose executors were replaced. */
  public List<String> lines() {
    List<String> lines = new ArrayList<>();
    for (Figure figure : figures) {
      if (judged(figure)) {
        lines.add(String.format(Locale.ROOT, "  %-7s %-16s %-12s %-10s %s", figure.engine(), figure.process(),
            figure.name(), verdict(figure), figure.trend().text()));
      }
    }
    for (Engine engine : List.of(Engine.STOCK, Engine.SLUICE)) {
      if (executors(engine) > 2) {
        lines.add("  " + engine.label() + ": executors were replaced: " + executors(engine) + " instead of 2");
      }
    }
    return lines;
  }

  private long executors(Engine engine) {
    return figures.stream().filter(figure -> figure.engine().equals(engine.label())).map(Figure::process)
        .filter(process -> process.startsWith(EXECUTOR)).distinct().count();
  }

  private static boolean judged(Figure figure) {
    return JUDGED.contains(figure.name());
  }

  /** Memory, descriptors, mappings and files over the minutes, as SVG. */
  public String picture() {
    List<Panel> panels = new ArrayList<>();
    for (String name : List.of("rss_mib", "descriptors", "mappings", "files")) {
      panels.add(new Panel(DRAWN.get(name), figures.stream().filter(figure -> figure.name().equals(name))
          .map(this::line).toList()));
    }
    return LineChart.of(panels, "minutes", "soak", "What stock and Sluice hold during a soak");
  }

  private Line line(Figure figure) {
    double[] minutes = figure.hours().clone();
    for (int i = 0; i < minutes.length; i++) {
      minutes[i] *= MINUTES_PER_HOUR;
    }
    List<String> processes = figures.stream().filter(each -> each.engine().equals(figure.engine())
        && each.process().startsWith(EXECUTOR)).map(Figure::process).distinct().toList();
    String name = figure.process().startsWith(EXECUTOR)
        ? "executor " + (processes.indexOf(figure.process()) + 1) : figure.process();
    return new Line(figure.engine() + ", " + name, figure.engine(), !name.startsWith("executor"), minutes,
        figure.values());
  }
}
