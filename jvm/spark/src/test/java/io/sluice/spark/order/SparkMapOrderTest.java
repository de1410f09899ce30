package io.sluice.spark.order;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.spark.record.ObjectKeyTable;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import net.jqwik.api.constraints.WithNull;
import org.apache.spark.util.collection.AppendOnlyMap;
import org.junit.jupiter.api.Test;
import scala.Tuple2;
import scala.collection.Iterator;

/** Keys are in the order that Spark's map has them in. */
class SparkMapOrderTest {
  /** A key whose hash many others have. */
  private record Colliding(int number) {
    @Override
    public int hashCode() {
      return number % 7;
    }
  }

  private static void assertOrder(List<?> keys) {
    AppendOnlyMap<Object, Object> map = new AppendOnlyMap<>(64);
    ObjectKeyTable table = new ObjectKeyTable();
    for (Object key : keys) {
      map.update(key, key);
      table.find(key);
    }
    List<Object> expected = new ArrayList<>();
    for (Iterator<Tuple2<Object, Object>> pairs = map.iterator(); pairs.hasNext();) {
      expected.add(pairs.next()._1());
    }
    assertEquals(expected, IntStream.of(SparkMapOrder.of(table)).mapToObj(table::key).toList());
  }

  @Property(tries = 300)
  void anyKeys(@ForAll @Size(max = 400) List<@WithNull(0.01) Integer> keys) {
    assertOrder(keys);
  }

  @Property(tries = 100)
  void keysThatCollide(@ForAll @Size(max = 300) List<@IntRange(min = 0, max = 500) Integer> keys) {
    assertOrder(keys.stream().map(Colliding::new).toList());
  }

  /** At sizes around those at which the map grows, with and without null. */
  @Test
  void growingMaps() {
    Random random = new Random(5);
    for (int size : new int[] {0, 1, 43, 44, 45, 46, 88, 89, 90, 91, 179, 180, 11_468, 11_469, 200_000}) {
      List<Object> keys = new ArrayList<>();
      IntStream.range(0, size).forEach(i -> keys.add("key " + random.nextInt()));
      assertOrder(keys);
      if (size > 0) {
        keys.set(random.nextInt(size), null);
        assertOrder(keys);
      }
    }
  }
}
