package io.sluice.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.FrameHeader;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.seal.EndMark;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;

/**
 * {@code spark.io.encryption.enabled} on Sluice's own path: stock's results, no row's bytes in any file, and files that
 * somebody has changed. The tasks themselves look into all files of this process while they run, so spill files too.
 */
@Timeout(240)
class EncryptedShuffleTest {
  private static final String MARKER = "S3CR3T-MARKER";
  private static final int LOOK_EVERY = 25_000;
  private static final Map<String, String> ENCRYPTED = Map.of("spark.io.encryption.enabled", "true",
      // So that rows that are not encrypted are in files as they are.
      "spark.shuffle.compress", "false", "spark.shuffle.spill.compress", "false");

  /** Names of files, without their numbers, in which tasks found no marker; and of those in which they found one. */
  private static final Set<String> CLEAN = ConcurrentHashMap.newKeySet();
  private static final Set<String> LEAKING = ConcurrentHashMap.newKeySet();

  private LocalSpark spark;

  @AfterEach
  void stop() {
    if (spark != null) {
      spark.close();
    }
  }

  private void start(Map<String, String> settings) {
    CLEAN.clear();
    LEAKING.clear();
    spark = LocalSpark.start(settings);
    spark.session().udf().register("look", (UDF1<Long, Long>) id -> {
      look(id);
      return id;
    }, DataTypes.LongType);
  }

  private static Map<String, String> encryptedAnd(String... more) {
    Map<String, String> settings = new HashMap<>(ENCRYPTED);
    for (int i = 0; i < more.length; i += 2) {
      settings.put(more[i], more[i + 1]);
    }
    return settings;
  }

  /** Called by tasks for each row. */
  private static void look(long id) {
    if (id % LOOK_EVERY == 0) {
      look();
    }
  }

  private static void look() {
    for (Path file : ShuffleFiles.all()) {
      try {
        String text = new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1);
        // An output that is being written has a random name behind its own.
        String name = file.getFileName().toString().replaceAll("\\.[0-9a-f-]{36}$", "");
        String kind =
            name.startsWith("shuffle_") ? name.replaceAll("[0-9_]+", "") : name.replaceAll("_[0-9a-f-]{36}.*", "");
        (text.contains(MARKER) ? LEAKING : CLEAN).add(kind);
      } catch (NoSuchFileException e) {
        // Deleted since it was listed.
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private Dataset<Row> table(long rows) {
    return spark.session().range(0, rows, 1, 3)
        .selectExpr("look(id) AS id", "concat('" + MARKER + "', id % 1000) AS text", "id % 77 AS k");
  }

  /**
   * Long texts, so that map tasks spill. Partition it by a column: a round robin sorts all rows, which looks, first.
   */
  private Dataset<Row> longTable() {
    return table(300_000).withColumn("text", functions.expr("repeat(text, 8)"));
  }

  private static List<String> sorted(List<Row> rows) {
    return rows.stream().map(Row::toString).sorted().collect(Collectors.toList());
  }

  private void assertSameAsStock(Supplier<Dataset<Row>> query) {
    List<String> rows = sorted(spark.onSluice(query));
    look();
    assertEquals(Set.of(), LEAKING);
    assertEquals(sorted(spark.onStock(query)), rows);
    assertTrue(spark.counter(Counter.SHUFFLES_ROWS) > 0);
  }

  /** What the other tests look for is found where nothing is encrypted. */
  @Test
  void withoutEncryptionTheRowsAreInTheFiles() {
    Map<String, String> plain =
        encryptedAnd("spark.io.encryption.enabled", "false", "spark.sluice.memory.limit", "16m");
    start(plain);
    spark.onSluice(() -> longTable().repartition(8, functions.col("k")));
    look();
    assertEquals(Set.of("shuffle.data", "temp_shuffle"), LEAKING);
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {"", "/absent/libsluice_jni.so"})
  void queriesWithSpillsGiveStocksRowsAndLeaveNoneInFiles(String library) {
    start(encryptedAnd("spark.sluice.memory.limit", "16m", "spark.sluice.native.library", library));
    assertSameAsStock(() -> longTable().repartition(8, functions.col("k")));
    assertTrue(spark.counter(Counter.WRITE_SPILLS) > 0);
    assertTrue(CLEAN.containsAll(Set.of("shuffle.data", "temp_shuffle")), CLEAN::toString);
  }

  @InAll
  @Test
  void encoderAndDecoderThreads() {
    start(encryptedAnd("spark.sluice.writer.threads", "2", "spark.sluice.reader.threads", "2",
        "spark.sluice.writer.batchBytes", "1m"));
    assertSameAsStock(() -> longTable().repartition(5));
    assertTrue(spark.counter(Counter.WRITE_BATCHES_BY_POOL) > 0);
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(ints = {128, 192, 256})
  void joinsAggregatesAndSorts(int keyBits) {
    start(encryptedAnd("spark.io.encryption.keySizeBits", Integer.toString(keyBits),
        "spark.io.encryption.keygen.algorithm", "HmacSHA256", "spark.sql.autoBroadcastJoinThreshold", "-1"));
    assertSameAsStock(() -> table(60_000).groupBy("k").agg(functions.max("text"), functions.sum("id")).orderBy("k"));
    assertSameAsStock(() -> table(20_000).as("l").join(table(20_000).as("r"), "id").select("l.text", "r.k"));
  }

  @Test
  void adaptivePlansReadPartsAndSeveralPartitionsAtOnce() {
    start(encryptedAnd("spark.sql.adaptive.enabled", "true", "spark.sql.autoBroadcastJoinThreshold", "-1",
        "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", "10k",
        "spark.sql.adaptive.skewJoin.skewedPartitionFactor", "1",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes", "100k", "spark.sql.shuffle.partitions", "40"));
    assertSameAsStock(() -> table(60_000).withColumn("k", functions.expr("if(id % 3 > 0, 1, k)")).as("l")
        .join(table(300).groupBy("k").count().as("r"), "k").select("l.text", "count"));
    assertSameAsStock(() -> table(5_000).groupBy("k").count());
  }

  /** So little that sorts and combiners spill. */
  private static Map<String, String> littleMemory(boolean encrypted) {
    return encryptedAnd("spark.io.encryption.enabled", Boolean.toString(encrypted), "spark.sluice.memory.limit", "24m",
        "spark.memory.fraction", "0.01", "spark.testing.reservedMemory", "1", "spark.testing.memory",
        Long.toString(600L << 20));
  }

  @Test
  void sortsThatSpill() {
    start(littleMemory(true));
    assertSameAsStock(this::sortedTable);
    assertTrue(CLEAN.contains("temp_local"), CLEAN::toString);
  }

  /** What {@link #sortsThatSpill} looks for is found where nothing is encrypted. */
  @Test
  void sortsThatSpillWithoutEncryptionLeaveRowsInFiles() {
    start(littleMemory(false));
    spark.onSluice(this::sortedTable);
    assertTrue(LEAKING.contains("temp_local"), LEAKING::toString);
  }

  private Dataset<Row> sortedTable() {
    return table(200_000).repartition(2).sortWithinPartitions("text", "id").selectExpr("look(id) AS id", "text");
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void sortsAndCombinersOfRddsThatSpill(boolean encrypted) {
    start(littleMemory(encrypted));
    // Strings of no known order and values without a shape: the rows are Spark's to sort and to combine.
    long groups = pairs(spark.session(), 200_000).mapToPair(pair -> new Tuple2<>(pair._2(), pair._2()))
        .groupByKey(2).filter(group -> {
          look(Long.parseLong(group._1().substring(MARKER.length())));
          return true;
        }).count();
    assertEquals(200_000, groups);
    Set<String> kinds = encrypted ? CLEAN : LEAKING;
    assertTrue(kinds.contains("temp_local"), kinds::toString);
    assertEquals(encrypted, LEAKING.isEmpty());
  }

  @InAll
  @Test
  void rowsThatGoToFilesOfTheirOwn() {
    start(encryptedAnd("spark.sluice.memory.limit", "16m"));
    // No row fits the limit. Before its second row the task that has two looks into the file that has its first one; of
    // a round robin it would have looked for both before it writes one.
    spark.session().udf().register("lookAlways", (UDF1<Long, Long>) id -> {
      look();
      return id;
    }, DataTypes.LongType);
    Supplier<Dataset<Row>> query =
        () -> table(4).selectExpr("lookAlways(id) AS id", "repeat(text, 1300000 + cast(id AS int)) AS text")
            .repartition(2, functions.col("id")).selectExpr("id", "md5(text) AS sum");
    assertSameAsStock(query);
    assertTrue(spark.counter(Counter.WRITE_ROWS_TO_FILES) > 0);
    assertTrue(CLEAN.contains("temp_shuffle"), CLEAN::toString);
  }

  @Test
  void mapOutputsInMemoryFilesAreSealedToo() {
    start(encryptedAnd("spark.sluice.store", "cache", "spark.sluice.cache.hostLimit", "64m"));
    assertSameAsStock(() -> table(100_000).repartition(4));
    assertTrue(spark.counter(Counter.CACHE_OUTPUTS) > 0);
    assertTrue(CLEAN.contains("shuffle.data"), CLEAN::toString);
  }

  @Test
  void withoutEncryptionTheRowsAreInMemoryFiles() {
    start(encryptedAnd("spark.io.encryption.enabled", "false", "spark.sluice.store", "cache",
        "spark.sluice.cache.hostLimit", "64m"));
    spark.onSluice(() -> table(100_000).repartition(4));
    look();
    assertTrue(spark.counter(Counter.CACHE_OUTPUTS) > 0);
    assertEquals(Set.of("shuffle.data"), LEAKING);
  }

  /** Writing the output to the disk would find the same frames. */
  @ParameterizedTest
  @ValueSource(strings = {"files", "cache"})
  void aMapTaskFailsWhoseSpillFileWasChanged(String store) {
    Map<String, String> settings = encryptedAnd("spark.sluice.memory.limit", "16m", "spark.sluice.store", store);
    if (store.equals("cache")) {
      settings.put("spark.sluice.cache.hostLimit", "256m");
    }
    start(settings);
    spark.session().udf().register("damage", (UDF1<Long, Long>) id -> {
      if (id == 599_999) {
        ShuffleFiles.named("temp_shuffle").forEach(EncryptedShuffleTest::changeLastByte);
      }
      return id;
    }, DataTypes.LongType);
    Dataset<Row> query = spark.session().range(0, 600_000, 1, 1)
        .selectExpr("damage(id) AS id", "repeat('" + MARKER + "', 8) AS text").repartition(4, functions.col("id"));
    Exception failure = assertThrows(Exception.class, query::collectAsList);
    assertTrue(failure.getMessage().contains("a spill of sealed frames was changed after it was written"),
        failure::getMessage);
    assertEquals(0, spark.counter(Counter.CACHE_REFUSALS));
  }

  private static void changeLastByte(Path file) {
    try (RandomAccessFile bytes = new RandomAccessFile(file.toFile(), "rw")) {
      bytes.seek(bytes.length() - 1);
      int last = bytes.read();
      bytes.seek(bytes.length() - 1);
      bytes.write(last ^ 1);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @VariantsInAll
  @ParameterizedTest
  @ValueSource(strings = {"", "/absent/libsluice_jni.so"})
  void recordsOfRdds(String library) {
    start(encryptedAnd("spark.sluice.memory.limit", "24m", "spark.sluice.native.library", library));
    JavaPairRDD<Integer, String> pairs = pairs(spark.session(), 100_000);
    List<Tuple2<Integer, String>> ordered = pairs.sortByKey(true, 3).mapToPair(pair -> {
      look(pair._1() * 5L);
      return pair;
    }).collect();
    for (int i = 0; i < ordered.size(); i++) {
      assertEquals(new Tuple2<>(i, MARKER + i), ordered.get(i));
    }
    Map<Integer, Integer> longest = pairs.mapToPair(pair -> new Tuple2<>(pair._1() % 100, pair._2().length()))
        .reduceByKey(Integer::max, 4).collectAsMap();
    assertEquals(100, longest.size());
    // Values without a shape go through the serializer.
    assertEquals(20_000, pairs.filter(pair -> pair._1() < 20_000).mapValues(text -> new Exception(text))
        .groupByKey(3).filter(pair -> pair._2().iterator().next().getMessage().startsWith(MARKER)).count());
    look();
    assertEquals(Set.of(), LEAKING);
    assertTrue(spark.counter(Counter.SHUFFLES_RECORDS) > 0);
    assertEquals(0, spark.counter(Counter.SHUFFLES_STOCK));
  }

  private static JavaPairRDD<Integer, String> pairs(SparkSession session, int count) {
    return JavaSparkContext.fromSparkContext(session.sparkContext())
        .parallelize(Arrays.asList(0, 1, 2, 3), 4)
        .flatMapToPair(slice -> java.util.stream.IntStream.range(0, count / 4)
            .mapToObj(i -> {
              int key = (int) ((i * 4L + slice) * 7919 % count);
              look(i);
              return new Tuple2<>(key, MARKER + key);
            }).iterator());
  }

  /** What somebody does to the files of a map output who can write them, but has no key. */
  private enum Tampering {
    BYTE_CHANGED_AND_CHECKSUMS_MADE_TO_FIT {
      @Override
      void on(Path data, Path index, Path other) throws IOException {
        byte[] bytes = Files.readAllBytes(data);
        int end = FrameHeader.BYTES + (int) FrameHeader.parse(bytes, 0).encodedBytes();
        bytes[FrameHeader.BYTES + 7] ^= 1;
        java.util.zip.CRC32C crc = new java.util.zip.CRC32C();
        crc.update(bytes, FrameHeader.BYTES, end - FrameHeader.BYTES);
        byte[] header = FrameHeader.parse(bytes, 0).withPayloadCrc((int) crc.getValue()).toBytes();
        System.arraycopy(header, 0, bytes, 0, header.length);
        Files.write(data, bytes);
      }
    },
    /** As somebody without a key can write them. */
    FRAME_THAT_IS_NOT_SEALED {
      @Override
      void on(Path data, Path index, Path other) throws IOException {
        byte[] bytes = Files.readAllBytes(data);
        FrameHeader sealed = FrameHeader.parse(bytes, 0);
        byte[] header = new FrameHeader(sealed.path(), sealed.encoding(), 0, sealed.records(), sealed.fields(),
            sealed.decodedBytes(), sealed.encodedBytes(), sealed.payloadCrc()).toBytes();
        System.arraycopy(header, 0, bytes, 0, header.length);
        Files.write(data, bytes);
      }
    },
    /** With its index file, so that every block is whole. */
    ANOTHER_MAP_OUTPUT_IN_ITS_PLACE {
      @Override
      void on(Path data, Path index, Path other) throws IOException {
        Files.write(data, Files.readAllBytes(other));
        Files.write(index, Files.readAllBytes(indexOf(other)));
      }
    },
    LAST_PARTITION_ENDS_BEFORE_ITS_END_MARK {
      @Override
      void on(Path data, Path index, Path other) throws IOException {
        long[] offsets = offsets(index);
        offsets[offsets.length - 1] -= EndMark.BYTES;
        write(index, offsets);
      }
    },
    FRAMES_OF_A_PARTITION_CHANGE_PLACES {
      @Override
      void on(Path data, Path index, Path other) throws IOException {
        byte[] bytes = Files.readAllBytes(data);
        int first = FrameHeader.BYTES + (int) FrameHeader.parse(bytes, 0).encodedBytes();
        FrameHeader next = FrameHeader.parse(bytes, first);
        assertTrue(next.isSealed(), "a partition of one frame");
        int second = FrameHeader.BYTES + (int) next.encodedBytes();
        Files.write(data, ByteBuffer.allocate(bytes.length).put(bytes, first, second).put(bytes, 0, first)
            .put(bytes, first + second, bytes.length - first - second).array());
      }
    },
    BLOCKS_CHANGE_PLACES {
      @Override
      void on(Path data, Path index, Path other) throws IOException {
        long[] offsets = offsets(index);
        byte[] bytes = Files.readAllBytes(data);
        ByteBuffer changed = ByteBuffer.allocate(bytes.length)
            .put(bytes, (int) offsets[1], (int) (offsets[2] - offsets[1])).put(bytes, 0, (int) offsets[1])
            .put(bytes, (int) offsets[2], (int) (bytes.length - offsets[2]));
        Files.write(data, changed.array());
        offsets[1] = offsets[2] - offsets[1];
        write(index, offsets);
      }
    };

    abstract void on(Path data, Path index, Path other) throws IOException;

    static Path indexOf(Path data) {
      String name = data.getFileName().toString().replace(".data", ".index");
      return ShuffleFiles.named(name).get(0);
    }

    private static long[] offsets(Path index) throws IOException {
      ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(index));
      long[] offsets = new long[bytes.remaining() / Long.BYTES];
      bytes.asLongBuffer().get(offsets);
      return offsets;
    }

    private static void write(Path index, long[] offsets) throws IOException {
      ByteBuffer bytes = ByteBuffer.allocate(offsets.length * Long.BYTES);
      bytes.asLongBuffer().put(offsets);
      Files.write(index, bytes.array(), StandardOpenOption.TRUNCATE_EXISTING);
    }
  }

  @ParameterizedTest
  @EnumSource
  void aTamperedMapOutputIsRefusedAndWrittenAgain(Tampering tampering) throws IOException {
    start(ENCRYPTED);
    JavaRDD<Row> rows = tableOfSeveralFrames().repartition(4).toJavaRDD();
    List<String> before = rows.map(EncryptedShuffleTest::digest).collect().stream().sorted().toList();
    List<Path> outputs = ShuffleFiles.all().stream().filter(file -> file.toString().endsWith(".data")).toList();
    assertTrue(outputs.size() > 1);
    tampering.on(outputs.get(0), Tampering.indexOf(outputs.get(0)), outputs.get(1));
    assertEquals(before, rows.map(EncryptedShuffleTest::digest).collect().stream().sorted().toList());
    assertTrue(spark.counter(Counter.READ_FRAMES_NOT_AUTHENTIC) > 0);
    assertTrue(spark.counter(Counter.READ_FETCH_FAILURES) > 0);
  }

  /** Shorter than the row: large results of tasks travel as blocks, which are lost when their executor is. */
  private static String digest(Row row) {
    return row.get(0) + " " + row.mkString(",").hashCode();
  }

  /** In each partition of each map output there is more than one frame. */
  private Dataset<Row> tableOfSeveralFrames() {
    return table(20_000).withColumn("text", functions.expr("repeat(text, 20)"));
  }

  /** The frames that follow are not read, and neither is the end mark where it lies. */
  @Test
  void aTaskThatStopsAtItsFirstRowNoticesThatFramesHaveChangedPlaces() throws IOException {
    start(ENCRYPTED);
    JavaRDD<Row> rows = tableOfSeveralFrames().repartition(4).toJavaRDD();
    assertEquals(20_000, rows.count());
    List<Path> outputs = ShuffleFiles.all().stream().filter(file -> file.toString().endsWith(".data")).toList();
    for (Path output : outputs) {
      Tampering.FRAMES_OF_A_PARTITION_CHANGE_PLACES.on(output, null, null);
    }
    assertEquals(1, rows.take(1).size());
    assertTrue(spark.counter(Counter.READ_FRAMES_NOT_AUTHENTIC) > 0);
    assertTrue(spark.counter(Counter.READ_FETCH_FAILURES) > 0);
  }

  @Test
  void shufflesGoSparksWayWhereAttemptsShareAnId() {
    start(encryptedAnd("spark.shuffle.useOldFetchProtocol", "true"));
    assertEquals(1000, table(1000).repartition(3).count());
    assertFalse(spark.counter(Counter.SHUFFLES_ROWS) > 0);
    assertTrue(spark.counter(Counter.SHUFFLES_STOCK) > 0);
  }
}
