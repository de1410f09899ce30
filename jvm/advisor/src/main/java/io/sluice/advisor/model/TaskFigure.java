package io.sluice.advisor.model;

import java.util.HashMap;
import java.util.Map;

/**
 * A number that a task reports, by its place in the event of its end: the part of {@code Task Metrics} (empty for its
 * own fields) and the field.
 */
public enum TaskFigure {
  /** Time on an executor, which contains all other times. */
  RUN_MS("", "Executor Run Time"),
  /** CPU time of the task's thread in that time. */
  CPU_NS("", "Executor CPU Time"),
  /** Pauses for garbage collection in that time. */
  GC_MS("", "JVM GC Time"),
  SPILLED_BYTES("", "Disk Bytes Spilled"),
  FETCH_WAIT_MS("Shuffle Read Metrics", "Fetch Wait Time"),
  REMOTE_BYTES("Shuffle Read Metrics", "Remote Bytes Read"),
  LOCAL_BYTES("Shuffle Read Metrics", "Local Bytes Read"),
  REMOTE_BLOCKS("Shuffle Read Metrics", "Remote Blocks Fetched"),
  LOCAL_BLOCKS("Shuffle Read Metrics", "Local Blocks Fetched"),
  READ_RECORDS("Shuffle Read Metrics", "Total Records Read"),
  WRITTEN_BYTES("Shuffle Write Metrics", "Shuffle Bytes Written"),
  WRITTEN_RECORDS("Shuffle Write Metrics", "Shuffle Records Written"),
  /** From outside: files, tables, cached blocks. */
  INPUT_BYTES("Input Metrics", "Bytes Read"),
  OUTPUT_BYTES("Output Metrics", "Bytes Written");

  private static final Map<String, Map<String, TaskFigure>> BY_PLACE = new HashMap<>();

  static {
    for (TaskFigure figure : values()) {
      BY_PLACE.computeIfAbsent(figure.section, section -> new HashMap<>()).put(figure.field, figure);
    }
  }

  private final String section;
  private final String field;

  TaskFigure(String section, String field) {
    this.section = section;
    this.field = field;
  }

  /** The figure at that place; null for one that no estimate needs. */
  public static TaskFigure of(String section, String field) {
    Map<String, TaskFigure> fields = BY_PLACE.get(section);
    return fields == null ? null : fields.get(field);
  }
}
