package io.sluice.advisor.estimate;

import io.sluice.advisor.model.Application;
import io.sluice.advisor.model.Exchange;
import io.sluice.advisor.model.Stage;
import io.sluice.advisor.model.TaskFigure;
import io.sluice.advisor.model.TaskTotals;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;

/**
 * The model of one stage: CPU saved for each row and byte that it writes and reads ({@link Costs}), less for small
 * blocks, never more than a part of the CPU that the stage took; then the pauses and waits that go with that CPU.
 */
final class StageEstimator {
  private static final double NANOS = 1e9;
  private static final double MILLIS = 1e3;

  private final Application application;
  private final Shuffles shuffles;
  private final boolean left;
  private final double rddPart;

  /** @param left whether Spark keeps all shuffles, whatever the shuffle manager */
  StageEstimator(Application application, boolean left) {
    this.application = application;
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
    if (left || written.isEmpty() && read.isEmpty()) {
      return new StageEstimate(stage, Map.of(), written, read, bytes, partitions(stage, written),
          shuffles.stagesBehind(stage));
    }
    Map<Part, Double> saved = cpu(stage, written, read);
    limit(saved, totals.cpuS() * Costs.MOST_OF_CPU);
    addWaits(saved, stage, read);
    saved.values().removeIf(seconds -> seconds <= 0);
    long bytesWritten = written.map(kind -> Math.round(bytes * byteRatio(kind))).orElse(0L);
    return new StageEstimate(stage, saved, written, read, bytesWritten, partitions(stage, written),
        shuffles.stagesBehind(stage));
  }

  private long partitions(Stage stage, Optional<ShuffleKind> written) {
    return written.isPresent() ? shuffles.partitions(stage) : 0;
  }

  private Map<Part, Double> cpu(Stage stage, Optional<ShuffleKind> written, Optional<ShuffleKind> read) {
    Map<Part, Double> saved = new EnumMap<>(Part.class);
    read.ifPresent(kind -> {
      double part = kept(stage.totals().sum(TaskFigure.READ_RECORDS), stage.totals().readBlocks());
      if (kind == ShuffleKind.SQL_ROWS) {
        readRows(saved, stage.totals(), part);
      } else {
        readRecords(saved, stage, part * rddPart);
      }
    });
    sortRows(saved, stage);
    written.ifPresent(kind -> {
      long blocks = shuffles.partitions(stage) * stage.totals().tasks();
      double part = kept(stage.totals().sum(TaskFigure.WRITTEN_RECORDS), blocks);
      if (kind == ShuffleKind.SQL_ROWS) {
        writeRows(saved, stage, part);
      } else {
        writeRecords(saved, stage, part * rddPart);
      }
    });
    return saved;
  }

  /** The part of a saving that blocks of so few rows leave. */
  private static double kept(long rows, long blocks) {
    double rowsPerBlock = blocks > 0 ? (double) rows / blocks : Double.MAX_VALUE;
    return rowsPerBlock / (rowsPerBlock + Costs.SMALL_BLOCK_ROWS);
  }

  private static void readRows(Map<Part, Double> saved, TaskTotals totals, double part) {
    add(saved, Part.READ, part * (totals.sum(TaskFigure.READ_RECORDS) * Costs.SQL_READ_ROW_NS
        + totals.readBytes() * Costs.SQL_READ_BYTE_NS) / NANOS);
  }

  private static void readRecords(Map<Part, Double> saved, Stage stage, double part) {
    TaskTotals totals = stage.totals();
    long records = totals.sum(TaskFigure.READ_RECORDS);
    add(saved, Part.READ,
        part * (records * Costs.RDD_READ_RECORD_NS + totals.readBytes() * Costs.RDD_READ_BYTE_NS) / NANOS);
    switch (RddOperation.of(stage.inputs())) {
      case COMBINE, GROUP -> add(saved, Part.COMBINE, part * records * Costs.RDD_COMBINE_RECORD_NS / NANOS);
      case SORT -> add(saved, Part.SORT, part * records * Costs.RDD_SORT_RECORD_NS / NANOS);
      case MOVE -> {}
    }
  }

  private static void sortRows(Map<Part, Double> saved, Stage stage) {
    if (stage.sortS() > 0) {
      // A stage's sorts get the rows that it reads; more, where a join or a window makes more of them.
      long rows = stage.totals().sum(TaskFigure.READ_RECORDS);
      double busy = Math.min(1, stage.totals().cpuS() / Math.max(1e-9, stage.totals().runS()));
      add(saved, Part.SORT, stage.sortS() * busy * Costs.SORT_TIME_PART + rows * Costs.SORT_ROW_NS / NANOS);
    }
  }

  private void writeRows(Map<Part, Double> saved, Stage stage, double part) {
    TaskTotals totals = stage.totals();
    long rows = totals.sum(TaskFigure.WRITTEN_RECORDS);
    double row = Costs.SQL_WRITE_ROW_NS - (hasRowChecksums() ? 0 : Costs.ROW_CHECKSUM_NS);
    Exchange.Partitioning partitioning =
        stage.exchange() == null ? Exchange.Partitioning.OTHER : stage.exchange().partitioning();
    if (partitioning == Exchange.Partitioning.RANGE) {
      row += Costs.RANGE_ROW_NS;
    } else if (partitioning == Exchange.Partitioning.ROUND_ROBIN) {
      double rowsOfTask = Math.max(2, (double) rows / Math.max(1, totals.tasks()));
      row += Costs.ROUND_ROBIN_SORT_NS * Math.log(rowsOfTask) / Math.log(2);
    }
    add(saved, Part.WRITE,
        part * (rows * row + totals.sum(TaskFigure.WRITTEN_BYTES) * Costs.SQL_WRITE_BYTE_NS) / NANOS);
  }

  /** Spark can compute checksums of rows since 4.1, and does it by default since 4.2. */
  private boolean hasRowChecksums() {
    SparkVersion version = SparkVersion.of(application.sparkVersion());
    return version.isAtLeast(4, 1)
        && application.isSet("spark.sql.shuffle.orderIndependentChecksum.enabled", version.isAtLeast(4, 2));
  }

  private void writeRecords(Map<Part, Double> saved, Stage stage, double part) {
    TaskTotals totals = stage.totals();
    double write = part * (totals.sum(TaskFigure.WRITTEN_RECORDS) * Costs.RDD_WRITE_RECORD_NS
        + totals.sum(TaskFigure.WRITTEN_BYTES) * Costs.RDD_WRITE_BYTE_NS) / NANOS;
    add(saved, Part.WRITE, write);
    if (RddOperation.of(shuffles.readersOf(stage)) == RddOperation.COMBINE) {
      double before = saved.values().stream().mapToDouble(Double::doubleValue).sum();
      add(saved, Part.COMBINE, Math.max(0, part * Costs.MAP_COMBINE_PART * totals.cpuS() - before));
    }
  }

  /** Scales what is saved, so that it is no more than {@code most} in all. */
  private static void limit(Map<Part, Double> saved, double most) {
    double all = saved.values().stream().mapToDouble(Double::doubleValue).sum();
    if (all > most) {
      saved.replaceAll((part, seconds) -> seconds * most / all);
    }
  }

  /** Collection, waits for blocks and waits for a processor shrink with the CPU time and the bytes. */
  private void addWaits(Map<Part, Double> saved, Stage stage, Optional<ShuffleKind> read) {
    TaskTotals totals = stage.totals();
    double cpu = totals.cpuS();
    double part = cpu <= 0 ? 0 : saved.values().stream().mapToDouble(Double::doubleValue).sum() / cpu;
    double gc = Math.min(totals.sum(TaskFigure.GC_MS) / MILLIS, Math.max(0, totals.runS() - cpu));
    add(saved, Part.GC, gc * Math.min(1, part * Costs.GC_PER_CPU));
    double fetching = Math.min(totals.sum(TaskFigure.FETCH_WAIT_MS) / MILLIS, Math.max(0, totals.runS() - cpu - gc));
    double idle = Math.max(0, totals.runS() - cpu - gc - fetching);
    double fewerBytes = read.map(kind -> 1 - byteRatio(kind)).orElse(0.0);
    // Whatever else a task waits for is taken to be a processor, so it shrinks as all tasks' CPU time does.
    add(saved, Part.WAITING, fetching * fewerBytes + idle * part);
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

  private static void add(Map<Part, Double> saved, Part part, double seconds) {
    saved.merge(part, seconds, Double::sum);
  }
}
