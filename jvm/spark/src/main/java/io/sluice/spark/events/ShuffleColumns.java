package io.sluice.spark.events;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.sluice.spark.metrics.ColumnBytes;
import io.sluice.spark.metrics.ColumnSample;
import java.util.Collections;
import java.util.List;

/**
 * How the fields of a shuffle's rows are encoded, in frames that readers looked at: one of each shuffle on each
 * executor. Those of a shuffle are to be added.
 */
public final class ShuffleColumns extends SluiceEvent {
  /** Fields of one event, one more for the others together; so that it has at most a kilobyte. */
  public static final int MOST_COLUMNS = 7;
  /** Of the columns; those with very large numbers are fewer. */
  private static final int MOST_BYTES = 890;
  /** Of a column without its numbers. */
  private static final int AROUND_COLUMN = 37;

  private final int shuffleId;
  private final int frames;
  private final List<ColumnBytes> columns;

  @JsonCreator
  ShuffleColumns(@JsonProperty("version") int version, @JsonProperty("shuffleId") int shuffleId,
      @JsonProperty("frames") int frames, @JsonProperty("columns") List<ColumnBytes> columns) {
    super(version);
    this.shuffleId = shuffleId;
    this.frames = frames;
    this.columns = columns == null ? Collections.emptyList() : columns;
  }

  /** @param columns of many, those with the most bytes stay, and the others become one */
  public static ShuffleColumns of(int shuffleId, int frames, List<ColumnBytes> columns) {
    int most = MOST_COLUMNS;
    List<ColumnBytes> kept = ColumnSample.sum(columns, Collections.emptyList(), most);
    while (most > 1 && kept.stream().mapToInt(ShuffleColumns::bytes).sum() > MOST_BYTES) {
      most--;
      kept = ColumnSample.sum(columns, Collections.emptyList(), most);
    }
    return new ShuffleColumns(VERSION, shuffleId, frames, kept);
  }

  private static int bytes(ColumnBytes column) {
    int bytes = AROUND_COLUMN + Integer.toString(column.field()).length() + Long.toString(column.rowBytes()).length();
    for (long encoded : column.toArray()) {
      bytes += Long.toString(encoded).length() + 1;
    }
    return bytes;
  }

  /** The number of the shuffle. */
  public int shuffleId() {
    return shuffleId;
  }

  /** How many frames were looked at. */
  public int frames() {
    return frames;
  }

  /** Each field, from 0 (-1: the rest), with its bytes in rows and in frames by encoding. */
  public List<ColumnBytes> columns() {
    return columns;
  }
}
