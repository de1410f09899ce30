package io.sluice.spark.write;

import java.io.Externalizable;
import java.io.IOException;
import java.io.ObjectInput;
import java.io.ObjectOutput;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext$;
import org.apache.spark.SparkEnv;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.storage.BlockManagerId;

/**
 * What a map task of SQL rows reports. On the driver, where adaptive execution plans by it, a block's size is what
 * Spark's own shuffle would have written; on executors, where Spark's fetch iterator bounds its requests by it, it is
 * the size of Sluice's block. A block that is not empty has a size above 0 on both.
 *
 * <pre>
 *   map task ── sizes of Spark's blocks, real bytes ÷ those ──► driver: statistics, skew, coalescing
 *                                                         └──► executors that read: sizes × that ratio
 * </pre>
 *
 * One ratio for all blocks of the map output: sizes are rounded to 10 % by Spark's own status anyway. It wraps Spark's
 * status, whose class depends on the number of partitions. Thread-safety is Spark's status's.
 */
public final class SluiceMapStatus implements MapStatus, Externalizable {
  private static final long serialVersionUID = 1L;

  private static final String REGISTRATION_REQUIRED = "spark.kryo.registrationRequired";

  private MapStatus stock;
  private double realBytesPerStockByte;
  /** Whether this copy was sent to an executor. */
  private transient boolean onExecutor;

  /** For deserialization only. */
  public SluiceMapStatus() {}

  private SluiceMapStatus(MapStatus stock, double realBytesPerStockByte) {
    this.stock = stock;
    this.realBytesPerStockByte = realBytesPerStockByte;
  }

  /**
   * The status of a map output. Spark's own where the application's serializer takes registered classes only, of which
   * this class is none: then executors too see the sizes of Spark's blocks, which are larger, and ask for less at a
   * time.
   *
   * @param stock Spark's status with the sizes of Spark's blocks
   * @param realBytesPerStockByte bytes of the whole map output, for each byte in Spark's format
   */
  static MapStatus of(MapStatus stock, double realBytesPerStockByte, SparkConf conf) {
    return conf.getBoolean(REGISTRATION_REQUIRED, false) ? stock : new SluiceMapStatus(stock, realBytesPerStockByte);
  }

  @Override
  public BlockManagerId location() {
    return stock.location();
  }

  @Override
  public void updateLocation(BlockManagerId location) {
    stock.updateLocation(location);
  }

  @Override
  public long getSizeForBlock(int partition) {
    long size = stock.getSizeForBlock(partition);
    return size == 0 || !onExecutor ? size : Math.max(1, Math.round(size * realBytesPerStockByte));
  }

  @Override
  public long mapId() {
    return stock.mapId();
  }

  /** Spark 4.1 and later ask for it; where Spark's status has none, Spark does not call this. */
  @Override
  public long checksumValue() {
    return stock.checksumValue();
  }

  @Override
  public void writeExternal(ObjectOutput out) throws IOException {
    out.writeObject(stock);
    out.writeDouble(realBytesPerStockByte);
  }

  @Override
  public void readExternal(ObjectInput in) throws IOException, ClassNotFoundException {
    stock = (MapStatus) in.readObject();
    realBytesPerStockByte = in.readDouble();
    SparkEnv env = SparkEnv.get();
    onExecutor = env != null && !env.executorId().equals(SparkContext$.MODULE$.DRIVER_IDENTIFIER());
  }
}
