package io.sluice.spark.comet;

import io.sluice.spark.SluiceException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * What the dependency of one of Comet's exchanges says beside Spark's. Comet's <em>native</em> exchange has pairs of 0
 * and batch, and the partitioning; its <em>columnar</em> one has pairs of partition and row. Both want batches back.
 */
public final class CometDependency {
  private static final String CLASS = "org.apache.spark.sql.comet.execution.shuffle.CometShuffleDependency";
  private static final String OF_BATCHES = "CometNativeShuffle";

  private final ShuffleDependency<?, ?, ?> dependency;

  private CometDependency(ShuffleDependency<?, ?, ?> dependency) {
    this.dependency = dependency;
  }

  /** Whether the dependency is Comet's; by name, so that Comet need not be there. */
  public static boolean isComets(ShuffleDependency<?, ?, ?> dependency) {
    return dependency.getClass().getName().equals(CLASS);
  }

  /** Null unless it is Comet's. */
  public static CometDependency of(ShuffleDependency<?, ?, ?> dependency) {
    return isComets(dependency) ? new CometDependency(dependency) : null;
  }

  /** Whether batches are written; else rows are. */
  public boolean writesBatches() {
    return OF_BATCHES.equals(get("shuffleType").toString());
  }

  /** The columns of all batches. */
  public StructType schema() {
    Option<?> ofRows = (Option<?>) get("schema");
    if (ofRows.isDefined()) {
      return (StructType) ofRows.get();
    }
    List<StructField> fields = new ArrayList<>();
    Iterator<?> attributes = attributes().iterator();
    while (attributes.hasNext()) {
      Attribute attribute = (Attribute) attributes.next();
      fields.add(new StructField(attribute.name(), attribute.dataType(), attribute.nullable(), Metadata.empty()));
    }
    return new StructType(fields.toArray(new StructField[0]));
  }

  /** How batches are divided. */
  Partitioning partitioning() {
    return (Partitioning) ((Option<?>) get("outputPartitioning")).get();
  }

  /** The columns, as the partitioning's keys name them. */
  Seq<?> attributes() {
    return (Seq<?>) get("outputAttributes");
  }

  /** The exchange's metric of decoding and decompression. */
  SQLMetric decodeTime() {
    return (SQLMetric) get("decodeTime");
  }

  /** A metric of Comet's writer by its name in the exchange; empty if the exchange has none of the name. */
  @SuppressWarnings("unchecked")
  Optional<SQLMetric> writeMetric(String name) {
    Option<?> metric = ((scala.collection.Map<String, ?>) get("shuffleWriteMetrics")).get(name);
    return metric.isDefined() ? Optional.of((SQLMetric) metric.get()) : Optional.empty();
  }

  /** Adds what writing a map output has taken to the metrics of Comet's writer, as far as the exchange has them. */
  public void wrote(long encodeNanos, long spills, long spilledBytes) {
    writeMetric("encode_time").ifPresent(metric -> metric.add(encodeNanos));
    writeMetric("spill_count").ifPresent(metric -> metric.add(spills));
    writeMetric("spilled_bytes").ifPresent(metric -> metric.add(spilledBytes));
  }

  ShuffleDependency<?, ?, ?> dependency() {
    return dependency;
  }

  private Object get(String name) {
    try {
      return dependency.getClass().getMethod(name).invoke(dependency);
    } catch (ReflectiveOperationException e) {
      throw new SluiceException("Comet's " + CLASS + " has no '" + name + "' that can be asked for. Sluice knows Comet "
          + CometSession.KNOWN + "; set spark.sluice.comet=false with another one", e);
    }
  }
}
