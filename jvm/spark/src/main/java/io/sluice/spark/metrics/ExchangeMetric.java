package io.sluice.spark.metrics;

/**
 * What Spark's SQL tab shows at the node <em>SluicePartitions</em> below an exchange, beside what Spark shows at the
 * exchange itself. The values are in {@link ExchangeMetrics}.
 */
public enum ExchangeMetric {
  ENCODE_TIME("sluiceEncodeTime", "encode time", NodeMetrics.NANOS),
  ENCODED_BYTES("sluiceEncodedBytes", "encoded bytes", NodeMetrics.BYTES),
  ROWS_PLACED("sluiceRowsPlaced", "rows whose partition Sluice found", NodeMetrics.COUNT),
  ROWS_ASKED("sluiceRowsAsked", "rows whose partition Spark's function found or proved", NodeMetrics.COUNT),
  REFUTED_TASKS("sluiceRefutedTasks", "tasks whose partitions Spark's function refuted", NodeMetrics.COUNT),
  FRAMES_READ("sluiceFramesRead", "frames read", NodeMetrics.COUNT),
  DECODE_TIME("sluiceDecodeTime", "decode time", NodeMetrics.NANOS),
  BLOCK_WAIT_TIME("sluiceBlockWaitTime", "time waiting for remote blocks", NodeMetrics.NANOS);

  private final String id;
  private final String label;
  private final String type;

  ExchangeMetric(String id, String label, String type) {
    this.id = id;
    this.label = label;
    this.type = type;
  }

  /** The key in the node's map of metrics. */
  public String id() {
    return id;
  }

  /** As the SQL tab shows it. */
  public String label() {
    return label;
  }

  /** Spark's name of the kind of value. */
  String type() {
    return type;
  }
}
