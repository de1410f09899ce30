package io.sluice.spark.record;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.apache.spark.serializer.Serializer;

/**
 * Whether records of flat parts ({@link PartType}) may be written as rows in place of the bytes of their shuffle's
 * serializer. A {@code KryoSerializer} has the registrators of the configuration that it was made with, which need not
 * be the application's, so the Kryo that it makes is asked. To make one takes a millisecond or so: it is done once for
 * a shuffle in an executor, not in each of its tasks. Any thread.
 */
public final class ShuffleSerializers {
  private final ConcurrentMap<Integer, Boolean> rowsMayReplace = new ConcurrentHashMap<>();

  /** Whether {@code serializer}, the shuffle's, writes such records in Spark's own way. */
  public boolean rowsMayReplace(int shuffleId, Serializer serializer) {
    Boolean known = rowsMayReplace.get(shuffleId);
    if (known == null) {
      known = rowsMayReplace(serializer);
      rowsMayReplace.put(shuffleId, known);
    }
    return known;
  }

  static boolean rowsMayReplace(Serializer serializer) {
    return NestedClasses.of(serializer, false).allowFlatParts();
  }

  /** Forgets a shuffle that was removed. */
  public void forget(int shuffleId) {
    rowsMayReplace.remove(shuffleId);
  }
}
