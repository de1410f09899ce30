package io.sluice.spark.ui;

import io.sluice.spark.metrics.Counter;
import java.util.Comparator;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/** A column of the table of shuffles, by which it can be sorted. */
enum ShuffleColumn {
  ID("id", "Shuffle", "Spark's number of the shuffle", ShuffleRow::shuffleId, row -> Integer.toString(row.shuffleId())),
  STAGES("stages", "Stages", "Stages that wrote or read it", row -> row.stages().size(), row -> ""),
  EXECUTION("execution", "SQL", "The SQL execution that began it", ShuffleRow::sqlExecution, row -> ""),
  PATH("path", "Path", "Who writes and reads it, and the reason if it is not in Sluice's format", null,
      ShufflesContent::pathOf),
  MAPS("maps", "Maps", "Map tasks", ShuffleRow::maps, row -> Amounts.count(row.maps())),
  PARTITIONS("partitions", "Parts", "Reduce partitions", ShuffleRow::partitions,
      row -> Amounts.count(row.partitions())),
  ROWS("rows", "Rows", "Rows or records written", of(Counter.WRITE_RECORDS),
      row -> Amounts.count(row.of(Counter.WRITE_RECORDS))),
  ROW_BYTES("rowBytes", "Row bytes", "Bytes of the rows before they were encoded", of(Counter.WRITE_ROW_BYTES),
      row -> bytes(row, Counter.WRITE_ROW_BYTES)),
  BLOCKS("blocks", "Block bytes", "Bytes written, and their share of the bytes of rows", of(Counter.WRITE_BLOCK_BYTES),
      row -> bytes(row, Counter.WRITE_BLOCK_BYTES) + share(row)),
  ENCODINGS("encodings", "Encodings",
      "How the fields of rows are encoded, in frames that were looked at; bytes of each "
          + "field, largest first. A click on the shuffle's number shows more",
      row -> row.columns().size(), row -> ""),
  STOCK("stock", "Spark's", "Estimate of the same blocks in Spark's format; only for rows of SQL",
      of(Counter.WRITE_STOCK_BYTES), row -> bytes(row, Counter.WRITE_STOCK_BYTES)),
  SPILLS("spills", "Spilled", "Bytes of encoded rows moved to spill files", of(Counter.WRITE_SPILLED_BYTES),
      row -> bytes(row, Counter.WRITE_SPILLED_BYTES)),
  ENCODE("encode", "Encode", "Time spent encoding, over all threads", of(Counter.WRITE_ENCODE_NANOS),
      row -> time(row, Counter.WRITE_ENCODE_NANOS)),
  WRITE("write", "Write", "Time spent writing data files", of(Counter.WRITE_COMMIT_NANOS),
      row -> time(row, Counter.WRITE_COMMIT_NANOS)),
  LOCAL("local", "Local", "Bytes read from files of the reader's host", of(Counter.READ_LOCAL_BYTES),
      row -> bytes(row, Counter.READ_LOCAL_BYTES)),
  REMOTE("remote", "Remote", "Bytes delivered by Spark's fetch iterator; of these one-sidedly",
      of(Counter.READ_REMOTE_BYTES), ShuffleColumn::remote),
  WAIT("wait", "Wait", "Time that readers waited for blocks of other executors", of(Counter.READ_FETCH_WAIT_NANOS),
      row -> time(row, Counter.READ_FETCH_WAIT_NANOS)),
  FRAMES("frames", "Frames", "Frames read; one that was read twice counts twice", of(Counter.READ_FRAMES),
      row -> count(row, Counter.READ_FRAMES)),
  DECODE("decode", "Decode", "Time spent decoding, over all threads", of(Counter.READ_DECODE_NANOS),
      row -> time(row, Counter.READ_DECODE_NANOS));

  private final String key;
  private final String title;
  private final String tooltip;
  private final ToLongFunction<ShuffleRow> number;
  private final Function<ShuffleRow, String> text;

  /** @param number by which the table is sorted; null to sort by the text */
  ShuffleColumn(String key, String title, String tooltip, ToLongFunction<ShuffleRow> number,
      Function<ShuffleRow, String> text) {
    this.key = key;
    this.title = title;
    this.tooltip = tooltip;
    this.number = number;
    this.text = text;
  }

  /** The column of an address's parameter; the first one if there is none of this name. */
  static ShuffleColumn of(String key) {
    for (ShuffleColumn column : values()) {
      if (column.key.equals(key)) {
        return column;
      }
    }
    return ID;
  }

  private static ToLongFunction<ShuffleRow> of(Counter counter) {
    return row -> row.of(counter);
  }

  private static String bytes(ShuffleRow row, Counter counter) {
    return row.of(counter) == 0 ? "" : Amounts.bytes(row.of(counter));
  }

  private static String time(ShuffleRow row, Counter counter) {
    return row.of(counter) == 0 ? "" : Amounts.nanos(row.of(counter));
  }

  private static String count(ShuffleRow row, Counter counter) {
    return row.of(counter) == 0 ? "" : Amounts.count(row.of(counter));
  }

  private static String share(ShuffleRow row) {
    long rows = row.of(Counter.WRITE_ROW_BYTES);
    return rows == 0 ? "" : " (" + Amounts.percent(row.of(Counter.WRITE_BLOCK_BYTES), rows) + ")";
  }

  private static String remote(ShuffleRow row) {
    long oneSided = row.of(Counter.READ_ONE_SIDED_BYTES);
    return bytes(row, Counter.READ_REMOTE_BYTES)
        + (oneSided == 0 ? "" : " (" + Amounts.percent(oneSided, row.of(Counter.READ_REMOTE_BYTES)) + " one-sided)");
  }

  String key() {
    return key;
  }

  String title() {
    return title;
  }

  String tooltip() {
    return tooltip;
  }

  String text(ShuffleRow row) {
    return text.apply(row);
  }

  Comparator<ShuffleRow> order() {
    return number == null ? Comparator.comparing(text) : Comparator.comparingLong(number);
  }
}
