package io.sluice.systemtests;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.Aggregator;
import org.apache.spark.HashPartitioner;
import org.apache.spark.Partitioner;
import org.apache.spark.RangePartitioner;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.rdd.ShuffledRDD;
import scala.Function1;
import scala.Function2;
import scala.Product2;
import scala.Tuple2;
import scala.math.Ordering$;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * A job on an RDD that follows from a number: keys and values of some class, an operation that shuffles them, a
 * partitioner and an order. Immutable; tasks have copies.
 */
final class GeneratedRdd implements Serializable {
  private static final long serialVersionUID = 1L;
  /** Of keys that a range partitioner samples: all, so that its bounds do not depend on the numbers of RDDs. */
  private static final int SAMPLED = 100_000;
  /** {@code sortByKey} samples all records if there are no more than so many for each partition. */
  private static final int SAMPLED_BY_SPARK = 60;
  /** Of each side; some keys have a tenth of the records. */
  private static final int JOINED = 300;

  private enum Operation {
    REPARTITION, PARTITION_BY, SORT_BY_KEY, SORT_WITHIN_PARTITIONS, GROUP_BY_KEY, REDUCE_BY_KEY, AGGREGATE_BY_KEY,
    COMBINE_BY_KEY,
    /** Combined by key, and sorted by it within partitions. */
    COMBINE_IN_ORDER, COGROUP, JOIN, DISTINCT
  }

  private enum Division {
    HASH, RANGE, OWN, THROWING
  }

  /** What there is for sorters and hash tables. */
  enum Memory {
    PLENTY,
    /** They spill after so many records that stock does, too. */
    FORCED_SPILLS,
    /** A few megabytes for all tasks. */
    LITTLE
  }

  /** Which tasks fail once. */
  private enum Failure {
    NONE, OF_MAPS, OF_READERS
  }

  private final int number;
  private final Memory memory;
  private final Operation operation;
  private final KeyOrder order;
  private final Division division;
  private final KeyOrder rangeOrder;
  private final int rows;
  private final int slices;
  private final int partitions;
  private final RecordKind keys;
  private final RecordKind values;
  private final RecordKind otherValues;
  private final int distinctKeys;
  private final boolean nullKeys;
  private final boolean nullValues;
  private final boolean combinesInMaps;
  private final boolean reuses;
  private final Failure failure;
  private final int failsAfter;
  private final String poison;

  /** Serializer, memory and operation go through in turn, so that 72 numbers have all of them; the rest is random. */
  GeneratedRdd(int number) {
    this.number = number;
    Random random = new Random(number * 0x9E3779B9L);
    memory = Memory.values()[number / 2 % Memory.values().length];
    operation = Operation.values()[number / 6 % Operation.values().length];
    slices = random.nextInt(3) == 0 ? 1 : 1 + random.nextInt(4);
    partitions = isSortByKey() ? 12 + random.nextInt(20) : 1 + random.nextInt(9);
    int some = random.nextInt(12) == 0 ? 0 : 200 + random.nextInt(1_500);
    rows = Math.min(some, mostRows());
    division = Division.values()[Math.max(0, random.nextInt(8) - 4)];
    KeyOrder.Kind orderKind = orderKind((number + number / 6) % KeyOrder.Kind.values().length);
    // The last one would divide the records of a key.
    KeyOrder.Kind rangeKind = KeyOrder.Kind.values()[random.nextInt(KeyOrder.Kind.values().length - 1)];
    keys = anyKind(random, kind -> suitsKeys(kind, orderKind, rangeKind));
    values = anyKind(random, kind -> true);
    otherValues = anyKind(random, kind -> true);
    distinctKeys = random.nextBoolean() ? 1 + rows / 8 : 4 * rows + 1;
    poison = RecordText.of(keys.of(random.nextInt(distinctKeys)));
    order = new KeyOrder(orderKind, random.nextInt(4), poison);
    rangeOrder = new KeyOrder(rangeKind, random.nextInt(4), poison);
    combinesInMaps = random.nextBoolean();
    reuses = kryo() && holdsNoObjectsInMaps() && (keys.isReusable() || values.isReusable()) && random.nextInt(3) > 0;
    nullKeys = !reuses && random.nextInt(4) == 0;
    nullValues = !reuses && random.nextInt(4) == 0;
    failure = Failure.values()[random.nextInt(Failure.values().length)];
    failsAfter = random.nextInt(200);
  }

  /** Where stock spills, it keeps keys apart that are equal but are not next to each other in the order. */
  private KeyOrder.Kind orderKind(int index) {
    KeyOrder.Kind kind = KeyOrder.Kind.values()[index];
    boolean hasPlaceForEach = kind != KeyOrder.Kind.WITH_TIES && kind != KeyOrder.Kind.INCONSISTENT;
    return hasPlaceForEach || !combinesInOrder() || memory == Memory.PLENTY ? kind : KeyOrder.Kind.OPAQUE;
  }

  private boolean combinesInOrder() {
    return operation == Operation.COMBINE_IN_ORDER;
  }

  private int mostRows() {
    return isSortByKey() ? SAMPLED_BY_SPARK * partitions : operation == Operation.JOIN ? JOINED : Integer.MAX_VALUE;
  }

  private RecordKind anyKind(Random random, Predicate<RecordKind> suits) {
    List<RecordKind> kinds = Arrays.stream(RecordKind.values()).filter(kind -> kryo() || !kind.needsKryo())
        .filter(suits).collect(Collectors.toList());
    return kinds.get(random.nextInt(kinds.size()));
  }

  private boolean suitsKeys(RecordKind kind, KeyOrder.Kind orderKind, KeyOrder.Kind rangeKind) {
    boolean usesHash = groups() || dividesBy(Division.HASH);
    boolean usesNaturalOrder = sorts() && isNatural(orderKind) || dividesBy(Division.RANGE) && isNatural(rangeKind);
    boolean dependsOnPlaces = groups() && kind.isLooselyEqual() && (memory != Memory.PLENTY || slices > 1)
        || combinesInOrder() && kind == RecordKind.BIG_DECIMAL && memory != Memory.PLENTY;
    boolean hasFewKeys = operation == Operation.JOIN && kind == RecordKind.BOOLEAN;
    return !(usesHash && kind.isArray()) && (!usesNaturalOrder || kind.hasOrder()) && !dependsOnPlaces && !hasFewKeys;
  }

  private static boolean isNatural(KeyOrder.Kind kind) {
    return kind == KeyOrder.Kind.NATURAL || kind == KeyOrder.Kind.REVERSED;
  }

  private boolean isSortByKey() {
    return operation == Operation.SORT_BY_KEY;
  }

  private boolean sorts() {
    return isSortByKey() || operation == Operation.SORT_WITHIN_PARTITIONS || combinesInOrder();
  }

  private boolean groups() {
    return operation.compareTo(Operation.GROUP_BY_KEY) >= 0;
  }

  private boolean dividesBy(Division wanted) {
    return division == wanted && !isSortByKey() && operation != Operation.REPARTITION
        && operation != Operation.DISTINCT;
  }

  /** Whether stock writes each record before it asks for the next one. */
  private boolean holdsNoObjectsInMaps() {
    boolean combines = operation == Operation.REDUCE_BY_KEY || operation == Operation.AGGREGATE_BY_KEY
        || (operation == Operation.COMBINE_BY_KEY || combinesInOrder()) && combinesInMaps
        || operation == Operation.DISTINCT;
    return !combines && !isSortByKey() && !dividesBy(Division.RANGE);
  }

  int number() {
    return number;
  }

  boolean kryo() {
    return number % 2 == 1;
  }

  Memory memory() {
    return memory;
  }

  /** Whether values of a key have stock's order: the one in which the only map task wrote them. */
  private boolean valuesInOrder() {
    return slices == 1 && memory == Memory.PLENTY;
  }

  /** How far stock defines where records are. */
  RddOutcome.Defined defined() {
    if (sorts() && order.kind() == KeyOrder.Kind.INCONSISTENT) {
      return isSortByKey() || dividesBy(Division.RANGE) ? RddOutcome.Defined.NOTHING : RddOutcome.Defined.PARTITIONS;
    }
    if (sorts()) {
      return valuesInOrder() && !combinesInOrder() ? RddOutcome.Defined.PLACES : RddOutcome.Defined.PLACES_OF_KEYS;
    }
    return !groups() && slices == 1 ? RddOutcome.Defined.PLACES : RddOutcome.Defined.PARTITIONS;
  }

  /** @param failing whether tasks fail as the program says */
  RddOutcome on(JavaSparkContext context, boolean failing) {
    return RddOutcome.of(() -> collected(result(context, failing && failure == Failure.OF_MAPS),
        failing && failure == Failure.OF_READERS));
  }

  private <K, V> List<List<Tuple2<String, String>>> collected(JavaPairRDD<K, V> result, boolean readersFail) {
    return new ArrayList<>(
        result.mapPartitions(records -> Collections.singletonList(texts(records, readersFail)).iterator()).collect());
  }

  private <K, V> ArrayList<Tuple2<String, String>> texts(Iterator<Tuple2<K, V>> records, boolean fails) {
    ArrayList<Tuple2<String, String>> texts = new ArrayList<>();
    while (records.hasNext()) {
      failOnce(fails, texts.size());
      Tuple2<K, V> record = records.next();
      texts.add(new Tuple2<>(sorts() ? order.place(record._1()) : "",
          RecordText.of(record._1()) + " -> " + RecordText.of(record._2())));
    }
    return texts;
  }

  private void failOnce(boolean fails, int records) {
    if (fails && records == failsAfter && TaskContext.get().attemptNumber() == 0) {
      throw new IllegalStateException("on purpose: the first attempt of this task fails");
    }
  }

  private JavaPairRDD<?, ?> result(JavaSparkContext context, boolean mapsFail) {
    JavaPairRDD<Object, Object> records = records(context, rows, values, mapsFail);
    switch (operation) {
      case REPARTITION :
        return records.repartition(partitions);
      case PARTITION_BY :
        return records.partitionBy(partitioner(records));
      case SORT_BY_KEY :
        return sorted(records);
      case SORT_WITHIN_PARTITIONS :
        return order.kind() == KeyOrder.Kind.NATURAL ? records.repartitionAndSortWithinPartitions(partitioner(records))
            : records.repartitionAndSortWithinPartitions(partitioner(records), order.comparator());
      case DISTINCT :
        return records.keys().distinct(partitions).mapToPair(key -> new Tuple2<>(key, 1));
      case COGROUP :
        return records.cogroup(others(context), partitioner(records))
            .mapValues(groups -> groupText(groups._1()) + " and " + groupText(groups._2()));
      case JOIN :
        return records.join(others(context), partitioner(records));
      default :
        return combined(records);
    }
  }

  private JavaPairRDD<Object, Object> sorted(JavaPairRDD<Object, Object> records) {
    switch (order.kind()) {
      case NATURAL :
        return records.sortByKey(true, partitions);
      case REVERSED :
        return records.sortByKey(false, partitions);
      default :
        return records.sortByKey(order, true, partitions);
    }
  }

  private JavaPairRDD<?, ?> combined(JavaPairRDD<Object, Object> records) {
    Partitioner partitioner = partitioner(records);
    switch (operation) {
      case GROUP_BY_KEY :
        return records.groupByKey(partitioner).mapValues(this::groupText);
      case REDUCE_BY_KEY :
        return records.reduceByKey(partitioner, GeneratedRdd::reduced);
      case AGGREGATE_BY_KEY :
        return records.aggregateByKey(new TreeSet<String>(), partitioner, GeneratedRdd::with, GeneratedRdd::withAll);
      case COMBINE_IN_ORDER :
        return combinedInOrder(records, partitioner);
      case COMBINE_BY_KEY :
        return records.<ArrayList<String>>combineByKey(
            value -> new ArrayList<>(Collections.singletonList(RecordText.of(value))), (list, value) -> {
              list.add(RecordText.of(value));
              return list;
            }, (list, more) -> {
              list.addAll(more);
              return list;
            }, partitioner, combinesInMaps, null).mapValues(this::inOrder);
      default :
        throw new IllegalStateException(operation.toString());
    }
  }

  private JavaPairRDD<Object, TreeSet<String>> combinedInOrder(
      JavaPairRDD<Object, Object> records, Partitioner partitioner) {
    Aggregator<Object, Object, TreeSet<String>> sets = new Aggregator<>(
        (Function1<Object, TreeSet<String>> & Serializable) value -> with(new TreeSet<>(), value),
        (Function2<TreeSet<String>, Object, TreeSet<String>> & Serializable) GeneratedRdd::with,
        (Function2<TreeSet<String>, TreeSet<String>, TreeSet<String>> & Serializable) GeneratedRdd::withAll);
    @SuppressWarnings("unchecked") // A JavaPairRDD holds pairs, which are products.
    ShuffledRDD<Object, Object, TreeSet<String>> shuffled = new ShuffledRDD<>(
        (RDD<? extends Product2<Object, Object>>) (RDD<?>) records.rdd(), partitioner, any(), any(), any());
    return JavaPairRDD.fromJavaRDD(shuffled.setAggregator(sets).setMapSideCombine(combinesInMaps)
        .setKeyOrdering(Ordering$.MODULE$.comparatorToOrdering(order.comparator())).toJavaRDD());
  }

  @SuppressWarnings("unchecked") // As Spark's Java API does it: the classes are not known.
  private static <T> ClassTag<T> any() {
    return (ClassTag<T>) (ClassTag<?>) ClassTag$.MODULE$.AnyRef();
  }

  private static TreeSet<String> with(TreeSet<String> set, Object value) {
    set.add(RecordText.of(value));
    return set;
  }

  private static TreeSet<String> withAll(TreeSet<String> set, TreeSet<String> more) {
    set.addAll(more);
    return set;
  }

  /** Changes the left value, where it can be changed; the order in which values come does not matter. */
  private static Object reduced(Object left, Object right) {
    if (left instanceof Tally sum && right instanceof Tally more) {
      return sum.add(more);
    }
    return RecordText.of(left).compareTo(RecordText.of(right)) >= 0 ? left : right;
  }

  private String groupText(Iterable<Object> group) {
    List<String> texts = new ArrayList<>();
    group.forEach(value -> texts.add(RecordText.of(value)));
    return inOrder(texts);
  }

  private String inOrder(List<String> texts) {
    if (!valuesInOrder()) {
      Collections.sort(texts);
    }
    return texts.toString();
  }

  @SuppressWarnings({"unchecked", "rawtypes"}) // As Spark's Java API makes it.
  private Partitioner partitioner(JavaPairRDD<Object, Object> records) {
    switch (division) {
      case HASH :
        return new HashPartitioner(partitions);
      case RANGE :
        return new RangePartitioner(partitions, records.rdd(), true, SAMPLED,
            Ordering$.MODULE$.comparatorToOrdering(rangeOrder.comparator()), ClassTag$.MODULE$.AnyRef());
      default :
        return new TextPartitioner(partitions, division == Division.THROWING ? poison : null);
    }
  }

  private JavaPairRDD<Object, Object> others(JavaSparkContext context) {
    return records(context, rows / 2, otherValues, false);
  }

  private JavaPairRDD<Object, Object> records(JavaSparkContext context, int count, RecordKind kind, boolean fails) {
    List<Integer> numbers = IntStream.range(0, count).boxed().collect(Collectors.toList());
    return context.parallelize(numbers, slices).mapPartitionsToPair(some -> new Records(some, kind, fails));
  }

  /** Makes a task's records one by one, in objects that are new, or always the same. */
  private final class Records implements Iterator<Tuple2<Object, Object>> {
    private final Iterator<Integer> numbers;
    private final RecordKind kind;
    private final boolean fails;
    private Object key;
    private Object value;
    private int made;

    Records(Iterator<Integer> numbers, RecordKind kind, boolean fails) {
      this.numbers = numbers;
      this.kind = kind;
      this.fails = fails;
    }

    @Override
    public boolean hasNext() {
      return numbers.hasNext();
    }

    @Override
    public Tuple2<Object, Object> next() {
      failOnce(fails, made++);
      int n = numbers.next();
      int keyNumber = (n * 0x9E3779B1 >>> 8) % distinctKeys;
      key = nullKeys && keyNumber % 17 == 3 ? null : keys.refilled(reuses ? key : null, keyNumber);
      value = nullValues && n % 7 == 3 ? null : kind.refilled(reuses ? value : null, n);
      return new Tuple2<>(key, value);
    }
  }

  /** Enough to run it again. */
  @Override
  public String toString() {
    return "program " + number + (kryo() ? " with Kryo" : " with Java's serializer") + ", memory " + memory + ": "
        + operation + " of " + rows + " records in " + slices + " slices, " + distinctKeys + " keys " + keys
        + (nullKeys ? " or null" : "") + ", values " + values + (nullValues ? " or null" : "")
        + (operation.compareTo(Operation.COGROUP) >= 0 ? " and " + otherValues : "")
        + (reuses ? ", in the same objects" : "") + (sorts() ? ", order " + order : "") + ", " + partitions
        + " partitions by " + division + (dividesBy(Division.RANGE) ? " of " + rangeOrder : "") + ", poison " + poison
        + (combinesInMaps ? ", combined in maps" : "") + ", failure " + failure + " after " + failsAfter;
  }
}
