package io.sluice.advisor.estimate;

import io.sluice.advisor.model.TaskFigure;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What Sluice would save for one shuffle, in the stage that writes it and in those that read it. Immutable.
 *
 * @param writer the stage whose tasks write it
 * @param savedReadingS seconds of task time saved by reading its blocks, and by sorting and combining what was read, by
 *          number of the stage; of a stage that reads several shuffles, the part that goes with their bytes
 * @param confidence how sure the writer's estimate is, and those of its readers
 */
public record ShuffleEstimate(StageEstimate writer, Map<Integer, Double> savedReadingS, Confidence confidence) {

  /** Of one shuffle; a thousand stages may read it. */
  private static final int MOST_DOUBTS = 12;
  /** Stages of one number, or that compute one RDD: Spark gives a stage up after four attempts. */
  private static final int MOST_ATTEMPTS = 8;

  /** The shuffles that {@code stages} write, in their order. */
  static List<ShuffleEstimate> of(List<StageEstimate> stages) {
    Map<Integer, List<StageEstimate>> writers = new HashMap<>();
    Map<Integer, List<StageEstimate>> writersByRdd = new HashMap<>();
    for (StageEstimate stage : stages) {
      if (stage.written().isPresent()) {
        add(writers, stage.stage().id(), stage);
        add(writersByRdd, stage.stage().outputRdd(), stage);
      }
    }
    Map<StageEstimate, Map<StageEstimate, Double>> reading = new IdentityHashMap<>();
    for (StageEstimate reader : stages) {
      if (reader.read().isPresent()) {
        share(reader, sources(reader, writers, writersByRdd), reading);
      }
    }
    return stages.stream().filter(stage -> stage.written().isPresent())
        .map(stage -> of(stage, reading.getOrDefault(stage, Map.of()))).collect(Collectors.toList());
  }

  private static void add(Map<Integer, List<StageEstimate>> writers, int key, StageEstimate stage) {
    List<StageEstimate> attempts = writers.computeIfAbsent(key, number -> new ArrayList<>(1));
    if (attempts.size() < MOST_ATTEMPTS) {
      attempts.add(stage);
    }
  }

  /**
   * Those whose output {@code reader} reads. A stage whose output was there already has a new number and no tasks, so
   * writers are looked for by the RDD that they compute too.
   */
  private static List<StageEstimate> sources(StageEstimate reader, Map<Integer, List<StageEstimate>> writers,
      Map<Integer, List<StageEstimate>> writersByRdd) {
    List<StageEstimate> sources = new ArrayList<>();
    reader.stage().parents().forEach(parent -> sources.addAll(writers.getOrDefault(parent, List.of())));
    reader.stage().inputs().forEach(input -> input.parents().forEach(rdd -> {
      if (rdd >= 0) {
        sources.addAll(writersByRdd.getOrDefault(rdd, List.of()));
      }
    }));
    return sources.stream().distinct().collect(Collectors.toList());
  }

  private static void share(StageEstimate reader, List<StageEstimate> sources,
      Map<StageEstimate, Map<StageEstimate, Double>> reading) {
    double bytes = sources.stream().mapToDouble(ShuffleEstimate::weight).sum();
    sources.forEach(source -> reading.computeIfAbsent(source, stage -> new LinkedHashMap<>(2)).put(reader,
        reader.savedReadingS() * weight(source) / bytes));
  }

  private static double weight(StageEstimate source) {
    return Math.max(1, source.stage().totals().sum(TaskFigure.WRITTEN_BYTES));
  }

  private static ShuffleEstimate of(StageEstimate writer, Map<StageEstimate, Double> readers) {
    Map<Integer, Double> saved = new TreeMap<>();
    readers.forEach((reader, seconds) -> saved.merge(reader.stage().id(), seconds, Double::sum));
    Confidence.Level level = writer.confidence().level();
    List<String> doubts = new ArrayList<>();
    addDoubts(writer, doubts);
    for (StageEstimate reader : readers.keySet()) {
      level = reader.confidence().level().compareTo(level) > 0 ? reader.confidence().level() : level;
      addDoubts(reader, doubts);
    }
    return new ShuffleEstimate(writer, saved, new Confidence(level, List.copyOf(doubts)));
  }

  private static void addDoubts(StageEstimate stage, List<String> doubts) {
    stage.confidence().doubts().stream().map(doubt -> "Stage " + stage.stage().id() + ": " + doubt)
        .limit(Math.max(0, MOST_DOUBTS - doubts.size())).forEach(doubts::add);
  }

  /** Seconds of task time saved by writing it. */
  public double savedWritingS() {
    return writer.savedWritingS();
  }

  /** Seconds of task time saved, in all. */
  public double savedInAllS() {
    return savedWritingS() + savedReadingS.values().stream().mapToDouble(Double::doubleValue).sum();
  }

  /** Those that save the most first. */
  public static Comparator<ShuffleEstimate> bySaving() {
    return Comparator.comparingDouble(ShuffleEstimate::savedInAllS).reversed()
        .thenComparingInt(shuffle -> shuffle.writer().stage().id());
  }
}
