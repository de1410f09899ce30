package io.sluice.bench.soak;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.Partitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;

/** Makes the RDD of a {@link RandomRecords}. Its functions see the contents of keys and values, never their order. */
final class RecordRunner {

  private static final long SEED = 42;
  private static final int TEXT = 37;

  private RecordRunner() {}

  /** The program's result, its values such that they can be hashed. */
  static JavaPairRDD<Object, Object> result(JavaSparkContext context, RandomRecords program) {
    long rows = program.rows();
    int maps = program.maps();
    int distinct = program.distinct();
    RandomRecords.Keys keys = program.keys();
    RandomRecords.Values values = program.values();
    JavaPairRDD<Object, Object> pairs = context.parallelize(List.copyOf(numbers(maps)), maps)
        .flatMapToPair(part -> LongStream.range(rows * part / maps, rows * (part + 1) / maps)
            .mapToObj(id -> new Tuple2<>(key(keys, Math.floorMod(XXH64.hashLong(id, SEED), (long) distinct)),
                value(values, id)))
            .iterator());
    for (RandomRecords.Step step : program.list()) {
      pairs = apply(pairs, step, keys);
    }
    return pairs.mapToPair(pair -> new Tuple2<>(hashable(pair._1()), hashable(pair._2())));
  }

  private static List<Integer> numbers(int count) {
    List<Integer> numbers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      numbers.add(i);
    }
    return numbers;
  }

  private static JavaPairRDD<Object, Object> apply(JavaPairRDD<Object, Object> pairs, RandomRecords.Step step,
      RandomRecords.Keys keys) {
    int n = step.partitions();
    return switch (step.what()) {
      case REDUCE_BY_KEY -> pairs.mapValues(value -> (Object) number(value)).reduceByKey(RecordRunner::sum, n);
      case GROUP_BY_KEY -> pairs.groupByKey(n).mapValues(RecordRunner::sorted);
      case AGGREGATE_TO_SETS ->
          pairs.mapValues(RecordRunner::number).aggregateByKey(new HashSet<Long>(), n, (set, value) -> {
            set.add(value);
            return set;
          }, (left, right) -> {
            left.addAll(right);
            return left;
          }).mapValues(set -> new ArrayList<>(new TreeSet<>(set)));
      case COMBINE_TO_LISTS -> pairs.mapValues(RecordRunner::number).combineByKey(value -> {
        ArrayList<Long> list = new ArrayList<>();
        list.add(value);
        return list;
      }, (list, value) -> {
        list.add(value);
        return list;
      }, (left, right) -> {
        left.addAll(right);
        return left;
      }, n).mapValues(list -> {
        list.sort(Comparator.naturalOrder());
        return list;
      });
      case SORT_BY_KEY -> keys == RandomRecords.Keys.PAIR ? pairs.sortByKey(new ByText(false), true, n)
          : pairs.sortByKey(true, n);
      case SORT_BY_REVERSED_ORDER -> pairs.sortByKey(new ByText(false), false, n);
      case SORT_BY_OPAQUE_ORDER -> pairs.sortByKey(new ByText(true), true, n);
      case REPARTITION -> JavaPairRDD.fromJavaRDD(pairs.map(pair -> pair).repartition(n));
      case PARTITION_BY_HASH -> pairs.partitionBy(new HashPartitioner(n));
      case PARTITION_BY_OWN_PARTITIONER -> pairs.partitionBy(new ByNumber(n));
      case SORT_WITHIN_PARTITIONS -> pairs.repartitionAndSortWithinPartitions(new ByNumber(n), new ByText(true));
      case DISTINCT -> pairs.mapValues(value -> (Object) number(value)).distinct(n);
      case JOIN -> pairs.join(counts(pairs, n), n).mapValues(RecordRunner::pair);
      case LEFT_OUTER_JOIN -> pairs.leftOuterJoin(counts(pairs.filter(pair -> number(pair._2()) % 3 == 0), n), n)
          .mapValues(both -> pair(new Tuple2<>(both._1(), both._2().orElse(-1L))));
      case COGROUP -> pairs.cogroup(counts(pairs, n), n)
          .mapValues(both -> pair(new Tuple2<>(sorted(both._1()), sorted(both._2()))));
      case REKEY ->
          pairs.mapToPair(pair -> new Tuple2<>(key(keys, Math.floorMod(number(pair._2()), 1_000L)), pair._2()));
      case TWICE -> pairs.union(pairs.mapValues(value -> (Object) number(value)));
      case CACHED -> pairs.persist(StorageLevel.MEMORY_AND_DISK());
    };
  }

  /** One pair for each key, so that a join has as many rows as its other side. */
  private static JavaPairRDD<Object, Object> counts(JavaPairRDD<Object, Object> pairs, int partitions) {
    return pairs.mapValues(value -> (Object) 1L).reduceByKey(RecordRunner::sum, partitions);
  }

  private static Object sum(Object left, Object right) {
    return (Long) left + (Long) right;
  }

  private static Object pair(Tuple2<?, ?> both) {
    return both;
  }

  private static Object key(RandomRecords.Keys keys, long number) {
    return switch (keys) {
      case LONG -> number;
      case INT -> (int) number;
      case STRING -> "key-" + number;
      case PAIR -> new Tuple2<>("k" + number % 100, number);
    };
  }

  private static Object value(RandomRecords.Values values, long id) {
    return switch (values) {
      case LONG -> id;
      case STRING -> "v".repeat((int) (id % TEXT)) + id;
      case BYTES -> ("bytes " + id).repeat((int) (id % 5)).getBytes(java.nio.charset.StandardCharsets.UTF_8);
      case LIST -> new ArrayList<>(List.of(id, id + 1, id % 7));
      case OBJECT -> new Item(id, "item " + id % 1000);
    };
  }

  /** A number that depends on nothing but the contents of {@code value}. */
  private static Long number(Object value) {
    Object hashable = hashable(value);
    if (hashable instanceof Tuple2<?, ?> pair) {
      return XXH64.hashLong(number(pair._2()), number(pair._1()));
    }
    if (hashable instanceof Iterable<?> list) {
      long sum = 0;
      for (Object element : list) {
        sum += number(element);
      }
      return XXH64.hashLong(sum, SEED);
    }
    if (hashable instanceof Number number) {
      return XXH64.hashLong(number.longValue(), SEED);
    }
    byte[] bytes = hashable instanceof byte[] array ? array
        : String.valueOf(hashable).getBytes(java.nio.charset.StandardCharsets.UTF_8);
    return XXH64.hashUnsafeBytes(bytes, org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET, bytes.length, SEED);
  }

  /** The numbers of {@code values} in ascending order: groups have none that can be relied on. */
  private static Object sorted(Iterable<?> values) {
    ArrayList<Long> numbers = new ArrayList<>();
    values.forEach(value -> numbers.add(number(value)));
    numbers.sort(Comparator.naturalOrder());
    return numbers;
  }

  private static Object hashable(Object value) {
    if (value instanceof Item item) {
      return new Tuple2<>(item.number(), item.text());
    }
    if (value instanceof Tuple2<?, ?> pair) {
      return new Tuple2<>(hashable(pair._1()), hashable(pair._2()));
    }
    return value;
  }

  /** Orders keys by their text, or by its hash, which no engine can guess. */
  private static final class ByText implements Comparator<Object>, Serializable {

    private static final long serialVersionUID = 1L;

    private final boolean hashed;

    ByText(boolean hashed) {
      this.hashed = hashed;
    }

    @Override
    public int compare(Object left, Object right) {
      int order = hashed ? Long.compare(number(left), number(right)) : 0;
      return order != 0 ? order : left.toString().compareTo(right.toString());
    }
  }

  /** A partitioner that no engine knows. */
  private static final class ByNumber extends Partitioner {

    private static final long serialVersionUID = 1L;

    private final int partitions;

    ByNumber(int partitions) {
      this.partitions = partitions;
    }

    @Override
    public int numPartitions() {
      return partitions;
    }

    @Override
    public int getPartition(Object key) {
      return (int) Math.floorMod(number(key), (long) partitions);
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof ByNumber same && same.partitions == partitions;
    }

    @Override
    public int hashCode() {
      return partitions;
    }
  }
}
