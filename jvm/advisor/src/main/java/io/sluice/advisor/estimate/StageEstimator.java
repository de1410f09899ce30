package io.sluice.advisor.estimate;

import io.sluice.advisor.model.Application;
import io.sluice.advisor.model.Exchange;
import io.sluice.advisor.model.Stage;
import io.sluice.advisor.model.TaskFigure;
import io.sluice.advisor.model.TaskTotals;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The model of one stage: CPU saved for each row and byte that it writes and reads ({@link Costs}), less for small
 * blocks, never more than a part of the CPU that the stage took; then the pauses and waits that go with that CPU.
 */
final class StageEstimator {
  private static final double MILLIS = 1e3;

  private final Application application;
  private final Confidence log;
  private final Shuffles shuffles;
  private final boolean left;
  private final double rddPart;

  /**
   * @param log how sure anything of this log is
   * @param left whether Spark keeps all shuffles, whatever the shuffle manager
   */
  StageEstimator(Application application, Confidence log, boolean left) {
    this.application = application;
    this.log = log;
    this.shuffles = new Shuffles(application);
    this.left = left;
    this.rddPart = hasOwnSerializer(application) ? Costs.OPAQUE_PART : 1;
  }

  /** Whether records of RDDs are written by a serializer that is neither of Spark's. */
  static boolean hasOwnSerializer(Application application) {
    String serializer = application.setting("spark.serializer", "org.apache.spark.serializer.JavaSerializer");
    return !serializer.equals("org.apache.spark.serializer.JavaSerializer")
        && !serializer.equals("org.apache.spark.serializer.KryoSerializer");
  }

  StageEstimate estimate(Stage stage) {
    TaskTotals totals = stage.totals();
    Optional<ShuffleKind> written =
        totals.sum(TaskFigure.WRITTEN_RECORDS) > 0 ? Optional.of(shuffles.written(stage)) : Optional.empty();
    Optional<ShuffleKind> read =
        totals.sum(TaskFigure.READ_RECORDS) > 0 ? Optional.of(Shuffles.read(stage)) : Optional.empty();
    long bytes = totals.sum(TaskFigure.WRITTEN_BYTES);
    long partitions = written.isPresent() ? shuffles.partitions(stage) : 0;
    if (left || written.isEmpty() && read.isEmpty()) {
      return new StageEstimate(stage, Map.of(), 0, List.of(), log.with(List.of()), written, read, bytes, partitions,
          shuffles.stagesBehind(stage));
    }
    List<Saving> savings = cpu(stage, written, read);
    Confidence confidence =
        log.with(StageDoubts.of(application, stage, partitions, written, read, savings));
    Map<Part, Double> saved = new EnumMap<>(Part.class);
    savings.forEach(saving -> add(saved, saving.part(), saving.seconds()));
    limit(saved, totals.cpuS() * Costs.MOST_OF_CPU);
    double fetchWait = addWaits(saved, stage, read);
    saved.values().removeIf(seconds -> seconds <= 0);
    long bytesWritten = written.map(kind -> Math.round(bytes * byteRatio(kind))).orElse(0L);
    double writing = writingPart(savings) * (sum(saved) - fetchWait);
    return new StageEstimate(stage, saved, writing, savings, confidence, written, read, bytesWritten, partitions,
        shuffles.stagesBehind(stage));
  }

  /** The part of the savings that is in writing; what waits for CPU time goes with it. */
  private static double writingPart(List<Saving> savings) {
    double all = savings.stream().mapToDouble(Saving::seconds).sum();
    return all <= 0 ? 0 : savings.stream().filter(Saving::writes).mapToDouble(Saving::seconds).sum() / all;
  }

  private List<Saving> cpu(Stage stage, Optional<ShuffleKind> written, Optional<ShuffleKind> read) {
    List<Saving> savings = new ArrayList<>();
    read.ifPresent(kind -> {
      double part = kept(stage.totals().sum(TaskFigure.READ_RECORDS), stage.totals().readBlocks());
      if (kind == ShuffleKind.SQL_ROWS) {
        readRows(savings, stage.totals(), part);
      } else {
        readRecords(savings, stage, part * rddPart);
      }
    });
    sortRows(savings, stage);
    written.ifPresent(kind -> {
      long blocks = shuffles.partitions(stage) * stage.totals().tasks();
      double part = kept(stage.totals().sum(TaskFigure.WRITTEN_RECORDS), blocks);
      if (kind == ShuffleKind.SQL_ROWS) {
        writeRows(savings, stage, part);
      } else {
        writeRecords(savings, stage, part * rddPart);
      }
    });
    return List.copyOf(savings);
  }

  /** The part of a saving that blocks of so few rows leave. */
  private static double kept(long rows, long blocks) {
    double rowsPerBlock = blocks > 0 ? (double) rows / blocks : Double.MAX_VALUE;
    return rowsPerBlock / (rowsPerBlock + Costs.SMALL_BLOCK_ROWS);
  }

  private static void readRows(List<Saving> savings, TaskTotals totals, double part) {
    read(savings, Part.READ, totals.sum(TaskFigure.READ_RECORDS), "rows read", Costs.SQL_READ_ROW_NS, part);
    read(savings, Part.READ, totals.readBytes(), "bytes read", Costs.SQL_READ_BYTE_NS, part);
  }

  private static void readRecords(List<Saving> savings, Stage stage, double part) {
    long records = stage.totals().sum(TaskFigure.READ_RECORDS);
    read(savings, Part.READ, records, "records read", Costs.RDD_READ_RECORD_NS, part);
    read(savings, Part.READ, stage.totals().readBytes(), "bytes read", Costs.RDD_READ_BYTE_NS, part);
    switch (RddOperation.of(stage.inputs())) {
      case COMBINE, GROUP ->
          read(savings, Part.COMBINE, records, "records combined or grouped", Costs.RDD_COMBINE_RECORD_NS, part);
      case SORT -> read(savings, Part.SORT, records, "records sorted", Costs.RDD_SORT_RECORD_NS, part);
      case MOVE -> {}
    }
  }

  private static void sortRows(List<Saving> savings, Stage stage) {
    if (stage.sortS() > 0) {
      // A stage's sorts get the rows that it reads; more, where a join or a window makes more of them.
      long rows = stage.totals().sum(TaskFigure.READ_RECORDS);
      double busy = Math.min(1, stage.totals().cpuS() / Math.max(1e-9, stage.totals().runS()));
      read(savings, Part.SORT, stage.sortS() * busy * Costs.SORT_TIME_PART,
          Math.round(100 * Costs.SORT_TIME_PART) + " % of the CPU in the sort time", Saving.SECOND_NS, 1);
      read(savings, Part.SORT, rows, "rows collected for sorts", Costs.SORT_ROW_NS, 1);
    }
  }

  private void writeRows(List<Saving> savings, Stage stage, double part) {
    TaskTotals totals = stage.totals();
    long rows = totals.sum(TaskFigure.WRITTEN_RECORDS);
    double row = Costs.SQL_WRITE_ROW_NS - (hasRowChecksums() ? 0 : Costs.ROW_CHECKSUM_NS);
    write(savings, rows, "rows written", row, part);
    Exchange.Partitioning partitioning =
        stage.exchange() == null ? Exchange.Partitioning.OTHER : stage.exchange().partitioning();
    if (partitioning == Exchange.Partitioning.RANGE) {
      write(savings, rows, "rows whose range is searched", Costs.RANGE_ROW_NS, part);
    } else if (partitioning == Exchange.Partitioning.ROUND_ROBIN) {
      double rowsOfTask = Math.max(2, (double) rows / Math.max(1, totals.tasks()));
      write(savings, rows, "rows that Spark sorts before a round robin",
          Costs.ROUND_ROBIN_SORT_NS * Math.log(rowsOfTask) / Math.log(2), part);
    }
    write(savings, totals.sum(TaskFigure.WRITTEN_BYTES), "bytes written", Costs.SQL_WRITE_BYTE_NS, part);
  }

  /** Spark can compute checksums of rows since 4.1, and does it by default since 4.2. */
  private boolean hasRowChecksums() {
    SparkVersion version = SparkVersion.of(application.sparkVersion());
    return version.isAtLeast(4, 1)
        && application.isSet("spark.sql.shuffle.orderIndependentChecksum.enabled", version.isAtLeast(4, 2));
  }

  private void writeRecords(List<Saving> savings, Stage stage, double part) {
    TaskTotals totals = stage.totals();
    write(savings, totals.sum(TaskFigure.WRITTEN_RECORDS), "records written", Costs.RDD_WRITE_RECORD_NS, part);
    write(savings, totals.sum(TaskFigure.WRITTEN_BYTES), "bytes written", Costs.RDD_WRITE_BYTE_NS, part);
    if (RddOperation.of(shuffles.readersOf(stage)) == RddOperation.COMBINE) {
      double before = savings.stream().mapToDouble(Saving::seconds).sum();
      double more = Math.max(0, part * Costs.MAP_COMBINE_PART * totals.cpuS() - before);
      savings.add(new Saving(Part.COMBINE, true, more, Math.round(100 * Costs.MAP_COMBINE_PART)
          + " % of the CPU of tasks that combine before they write, without what is counted already", Saving.SECOND_NS,
          1));
    }
  }

  private static void read(List<Saving> savings, Part part, double amount, String things, double nanos, double kept) {
    if (amount > 0) {
      savings.add(new Saving(part, false, amount, things, nanos, kept));
    }
  }

  private static void write(List<Saving> savings, double amount, String things, double nanos, double kept) {
    if (amount > 0) {
      savings.add(new Saving(Part.WRITE, true, amount, things, nanos, kept));
    }
  }

  /** Scales what is saved, so that it is no more than {@code most} in all. */
  private static void limit(Map<Part, Double> saved, double most) {
    double all = sum(saved);
    if (all > most) {
      saved.replaceAll((part, seconds) -> seconds * most / all);
    }
  }

  /**
   * Collection, waits for blocks and waits for a processor shrink with the CPU time and the bytes.
   *
   * @return the seconds of waits for blocks that are saved
   */
  private double addWaits(Map<Part, Double> saved, Stage stage, Optional<ShuffleKind> read) {
    TaskTotals totals = stage.totals();
    double cpu = totals.cpuS();
    double part = cpu <= 0 ? 0 : sum(saved) / cpu;
    double gc = Math.min(totals.sum(TaskFigure.GC_MS) / MILLIS, Math.max(0, totals.runS() - cpu));
    add(saved, Part.GC, gc * Math.min(1, part * Costs.GC_PER_CPU));
    double fetching = Math.min(totals.sum(TaskFigure.FETCH_WAIT_MS) / MILLIS, Math.max(0, totals.runS() - cpu - gc));
    double idle = Math.max(0, totals.runS() - cpu - gc - fetching);
    double fewerBytes = read.map(kind -> 1 - byteRatio(kind)).orElse(0.0);
    // Whatever else a task waits for is taken to be a processor, so it shrinks as all tasks' CPU time does.
    add(saved, Part.WAITING, fetching * fewerBytes + idle * part);
    return fetching * fewerBytes;
  }

  private double byteRatio(ShuffleKind kind) {
    if (!application.isSet("spark.shuffle.compress", true)) {
      return Costs.UNCOMPRESSED_BYTES;
    }
    boolean zstd = Obstacle.codec(application).equals("zstd");
    if (kind == ShuffleKind.SQL_ROWS) {
      return zstd ? Costs.SQL_BYTES_ZSTD : Costs.SQL_BYTES;
    }
    return zstd ? Costs.RDD_BYTES_ZSTD : Costs.RDD_BYTES;
  }

  private static double sum(Map<Part, Double> saved) {
    return saved.values().stream().mapToDouble(Double::doubleValue).sum();
  }

  private static void add(Map<Part, Double> saved, Part part, double seconds) {
    saved.merge(part, seconds, Double::sum);
  }
}
