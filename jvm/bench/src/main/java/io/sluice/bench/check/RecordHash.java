package io.sluice.bench.check;

import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.unsafe.Platform;
import scala.Tuple2;

/**
 * 64-bit hashes of the contents of RDD records: equal objects hash equally on every JVM and in every run.
 *
 * <p>Bytes are hashed by Spark's XXH64, as SQL's {@code xxhash64} does. An {@link Iterable} (the values of a
 * group) hashes independently of its order, because no engine promises one.
 */
final class RecordHash {

  private static final long SEED = 42;
  private static final long NULL = 1;

  private RecordHash() {}

  /**
   * The hash of {@code record}: null, bytes, a string, a boxed integer, long or double, or a pair or an
   * iterable of those.
   *
   * @throws IllegalArgumentException for any other class
   */
  static long of(Object record) {
    if (record instanceof Tuple2<?, ?> pair) {
      return XXH64.hashLong(of(pair._2()), of(pair._1()));
    }
    if (record instanceof byte[] bytes) {
      return XXH64.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length, SEED);
    }
    if (record instanceof String text) {
      return of(text.getBytes(StandardCharsets.UTF_8));
    }
    if (record instanceof Double number) {
      return XXH64.hashLong(Double.doubleToLongBits(number), SEED);
    }
    if (record instanceof Long || record instanceof Integer) {
      return XXH64.hashLong(((Number) record).longValue(), SEED);
    }
    if (record instanceof Iterable<?> group) {
      return ofGroup(group);
    }
    if (record == null) {
      return NULL;
    }
    throw new IllegalArgumentException("cannot hash a " + record.getClass().getName());
  }

  private static long ofGroup(Iterable<?> group) {
    long count = 0;
    long sum = 0;
    for (Object member : group) {
      count++;
      sum += of(member);
    }
    return XXH64.hashLong(sum, count);
  }
}
