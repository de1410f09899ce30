package io.sluice.spark.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.Arena;
import io.sluice.nativebridge.FrameHeader;
import io.sluice.nativebridge.Lease;
import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import io.sluice.nativebridge.NativeLibrary;
import io.sluice.spark.InAll;
import io.sluice.spark.VariantsInAll;
import io.sluice.spark.codec.Decoders;
import io.sluice.spark.codec.RowFile;
import io.sluice.spark.codec.RowHashes;
import io.sluice.spark.conf.BlockSettings;
import io.sluice.spark.conf.Settings;
import io.sluice.spark.memory.JavaArena;
import io.sluice.spark.record.RecordEncoder;
import io.sluice.spark.seal.ApplicationKey;
import io.sluice.spark.seal.FrameSealer;
import io.sluice.spark.seal.OutputKeys;
import io.sluice.spark.seal.SealedBlock;
import io.sluice.spark.seal.SealedBlocksInArrays;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32C;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the native core writes Java reads, and the other way round, with the same rows, lengths and checksums. */
// A thread of its own ends with each test, and with it the scratch memory of its native encoder and decoder.
@Timeout(value = 180, threadMode = ThreadMode.SEPARATE_THREAD)
class RunsOnBothEnginesTest {
  private static final long MIB = 1 << 20;
  private static final OutputKeys KEYS = new ApplicationKey(new byte[16]).output(4, 1L << 33);

  /** A row and the partition that it goes to. */
  private record Placed(int partition, byte[] row) {}

  /** Rows with the same number of fields, encoded as one batch; or one row that is written to a file. */
  private record Batch(int fields, List<Placed> rows, boolean inFile) {
    Batch(int fields, List<Placed> rows) {
      this(fields, rows, false);
    }
  }

  @TempDir private Path folder;

  @BeforeEach
  void load() {
    NativeLibrary.Status library = NativeLibrary.load("");
    assumeTrue(library.available(), library.detail());
    Arena.NATIVE.setLimit(256 * MIB);
  }

  @VariantsInAll(oneOf = 3)
  @ParameterizedTest
  @CsvSource({"1, lz4, fast", "2, zstd, fast", "3, snappy, small", "4, lz4, small", "5, zstd, small", "6, none, plain"})
  void rowsOfSql(long seed, String codec, String level) throws Exception {
    Random random = new Random(seed);
    for (int round = 0; round < 6; round++) {
      int partitions = new int[] {1, 3, 40, 1000, 7, 2}[round];
      List<Batch> batches = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        batches.add(sqlRows(random, partitions, new int[] {0, 1, 5, 70, 3, 12}[round], 1 + random.nextInt(1500)));
      }
      checkBoth(batches, partitions, blocks(codec, level), round % 2 == 1);
    }
  }

  @Test
  void recordsOfRdds() throws Exception {
    Random random = new Random(21);
    RecordEncoder encoder = new RecordEncoder();
    List<Placed> rows = new ArrayList<>();
    Object[] keys = {7, "text", "Größe ≠", 3L, new byte[] {1, 2, 3}, 2.5, null, true, 'c'};
    for (int i = 0; i < 3000; i++) {
      Object value = keys[random.nextInt(keys.length)];
      // The same array as key and value is left to the serializer.
      Object other = value instanceof byte[] bytes ? bytes.clone() : value;
      assertTrue(encoder.encode(keys[random.nextInt(keys.length)], other));
      rows.add(new Placed(random.nextInt(9), Arrays.copyOf(encoder.buffer(), encoder.length())));
    }
    checkBoth(List.of(new Batch(encoder.fields(), rows)), 9, blocks("lz4", "fast"), false);
  }

  @Test
  void aGiantRowAmongSmallOnes() throws Exception {
    List<Placed> rows = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      UnsafeRowWriter writer = new UnsafeRowWriter(2);
      writer.reset();
      writer.zeroOutNullBytes();
      writer.write(0, (long) i);
      byte[] text = new byte[i == 9 ? 900_000 : 10];
      Arrays.fill(text, (byte) ('a' + i));
      writer.write(1, text);
      rows.add(new Placed(i % 2, writer.getRow().getBytes()));
    }
    checkBoth(List.of(new Batch(2, rows)), 2, blocks("lz4", "small"), true);
  }

  /** Among runs in memory and spilled ones, in order. */
  @VariantsInAll
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void rowsInFilesOfTheirOwn(boolean spill) throws Exception {
    Random random = new Random(9);
    List<Batch> batches = new ArrayList<>();
    for (int i = 0; i < 7; i++) {
      Batch batch = sqlRows(random, 3, 4, i % 2 == 0 ? 200 : 1);
      byte[] large = Arrays.copyOf(batch.rows().get(0).row(), 600_000);
      batches.add(i % 2 == 0 ? batch : new Batch(4, List.of(new Placed(i % 3, large)), true));
    }
    checkBoth(batches, 3, blocks("lz4", "fast"), spill);
  }

  @Test
  void framesThatAreNotInTheFileAreRefused() throws Exception {
    NativeRuns runs = new NativeRuns(2, blocks("lz4", "fast"), true, null);
    File file = folder.resolve("row").toFile();
    byte[] row = new byte[64];
    RowFile.write(file, 5, 1, 1, row, Platform.BYTE_ARRAY_OFFSET, row.length, null);
    long bytes = RowFile.frameBytes(row.length, false);
    assertEquals(5 + bytes, file.length());
    assertThrows(NativeException.class, () -> runs.addRow(0, 2, file, 5, bytes, 0, null), "no such partition");
    assertThrows(NativeException.class, () -> runs.addRow(0, 1, file, 6, bytes, 0, null), "cut");
    File none = folder.resolve("none").toFile();
    assertThrows(NativeException.class, () -> runs.addRow(0, 1, none, 5, bytes, 0, null), "no such file");
    runs.close();
  }

  /** Rows whose bytes are no rows of Spark's writers: everything behind the words is a tail. */
  @Test
  void rowsWithTails() throws Exception {
    Random random = new Random(5);
    List<Placed> rows = new ArrayList<>();
    for (int i = 0; i < 700; i++) {
      byte[] row = new byte[8 * (2 + random.nextInt(9))];
      random.nextBytes(row);
      rows.add(new Placed(random.nextInt(3), row));
    }
    checkBoth(List.of(new Batch(1, rows)), 3, blocks("lz4", "fast"), false);
  }

  @Test
  void noMemoryForARunAddsNothing() throws Exception {
    JavaArena arena = new JavaArena();
    arena.setLimit(MIB);
    JavaRuns runs = new JavaRuns(4, arena, true, null);
    Batch batch = sqlRows(new Random(1), 4, 5, 100);
    arena.setLimit(100);
    NativeException refused = assertThrows(NativeException.class, () -> encode(runs, 0, batch));
    assertEquals(NativeCore.NO_MEMORY, refused.reason());
    assertEquals(0, runs.memoryBytes());
    assertEquals(0, runs.rowChecksum());
    arena.setLimit(MIB);
    encode(runs, 0, batch);
    assertTrue(arena.leasedBytes() > 0);
    runs.close();
    assertEquals(0, arena.leasedBytes());
    assertThrows(RuntimeException.class, () -> encode(runs, 1, batch), "a run that comes after close is freed");
    assertEquals(0, arena.leasedBytes());
  }

  @Test
  void anEncodeInJavaTakesAtMostWhatItSaid() {
    Random random = new Random(3);
    for (int[] shape : new int[][] {{1, 1, 1}, {1, 0, 70_000}, {500, 2, 900}, {3, 40, 3000}, {2000, 1, 10}}) {
      Batch batch = sqlRows(random, shape[0], shape[1], shape[2]);
      JavaArena arena = new JavaArena();
      JavaRuns runs = new JavaRuns(shape[0], arena, false, null);
      long rowBytes = batch.rows().stream().mapToLong(placed -> placed.row().length).sum();
      arena.setLimit(runs.encodeNeeds(rowBytes, batch.rows().size(), 0, batch.fields()));
      encode(runs, 0, batch);
      runs.close();
    }
  }

  private static BlockSettings blocks(String codec, String level) {
    SparkConf conf = new SparkConf(false).set("spark.shuffle.checksum.algorithm", "CRC32C");
    if (codec.equals("none")) {
      conf.set("spark.shuffle.compress", "false");
    } else {
      conf.set("spark.io.compression.codec", codec).set("spark.sluice.codec.level", level);
    }
    return Settings.from(conf).blocks();
  }

  private static Batch sqlRows(Random random, int partitions, int fields, int count) {
    int[] kinds = random.ints(fields, 0, 8).toArray();
    List<Placed> rows = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      UnsafeRowWriter writer = new UnsafeRowWriter(fields);
      writer.reset();
      writer.zeroOutNullBytes();
      for (int field = 0; field < fields; field++) {
        if (random.nextInt(6) == 0) {
          writer.setNullAt(field);
        } else {
          write(writer, field, kinds[field], i, random);
        }
      }
      rows.add(new Placed(random.nextInt(partitions), writer.getRow().getBytes()));
    }
    return new Batch(fields, rows);
  }

  /** Values for which encoders choose different columns. */
  private static void write(UnsafeRowWriter writer, int field, int kind, int row, Random random) {
    switch (kind) {
      case 0 -> writer.write(field, 42L);
      case 1 -> writer.write(field, 1_000_000L + 3L * row);
      case 2 -> writer.write(field, random.nextLong());
      case 3 -> writer.write(field, random.nextInt(200) - 100L);
      case 4 -> writer.write(field, (long) new int[] {5, -9_999_999, 77_777_777}[random.nextInt(3)] << 20);
      case 5 -> writer.write(field, UTF8String.fromString("the words " + row % 13 + " again ".repeat(row % 5)));
      case 6 -> {
        byte[] bytes = new byte[random.nextInt(90)];
        random.nextBytes(bytes);
        writer.write(field, bytes);
      }
      default -> writer.write(field, Decimal.apply("12345678901234567890." + random.nextInt(1000)), 38, 18);
    }
  }

  private void encodeOrAdd(Runs runs, long sequence, Batch batch, FrameSealer sealer) throws Exception {
    if (!batch.inFile()) {
      encode(runs, sequence, batch);
      return;
    }
    Placed placed = batch.rows().get(0);
    int length = placed.row().length;
    File file = folder.resolve("rows of " + runs.getClass().getSimpleName()).toFile();
    long start = file.length();
    byte[] seal = RowFile.write(file, start, placed.partition(), batch.fields(), placed.row(),
        Platform.BYTE_ARRAY_OFFSET, length, sealer);
    runs.addRow(sequence, placed.partition(), file, start, RowFile.frameBytes(length, sealer != null),
        RowHashes.ofRow(placed.row(), Platform.BYTE_ARRAY_OFFSET, length), seal);
  }

  private static void encode(Runs runs, long sequence, Batch batch) {
    int bytes = batch.rows().stream().mapToInt(placed -> placed.row().length + PageWriter.ENTRY_BYTES).sum();
    JavaArena arena = new JavaArena();
    arena.setLimit(Long.MAX_VALUE / 2);
    List<Lease> leases = new ArrayList<>();
    PageBatch pages = new PageBatch(batch.fields());
    try {
      PageWriter page = null;
      for (Placed placed : batch.rows()) {
        byte[] row = placed.row();
        while (page == null || !page.append(placed.partition(), row, Platform.BYTE_ARRAY_OFFSET, row.length)) {
          leases.add(arena.tryTake(Math.max(row.length + 8, bytes / 3 / 8 * 8)));
          page = pages.addPage(leases.get(leases.size() - 1), 0);
        }
      }
      runs.encode(sequence, batch.fields(), pages.describe());
    } finally {
      leases.forEach(Lease::close);
    }
  }

  private void checkBoth(List<Batch> batches, int partitions, BlockSettings blocks, boolean spill) throws Exception {
    checkBoth(batches, partitions, blocks, spill, null);
    checkBoth(batches, partitions, blocks, spill, KEYS);
  }

  private void checkBoth(List<Batch> batches, int partitions, BlockSettings blocks, boolean spill, OutputKeys keys)
      throws Exception {
    JavaArena arena = new JavaArena();
    arena.setLimit(256 * MIB);
    JavaRuns java = new JavaRuns(partitions, arena, true, keys);
    NativeRuns ofNative = new NativeRuns(partitions, blocks, true, keys);
    checkOutput(java, batches, partitions, spill, keys);
    checkOutput(ofNative, batches, partitions, spill, keys);
    assertEquals(ofNative.rowChecksum(), java.rowChecksum());
    java.close();
    ofNative.close();
    assertEquals(0, arena.leasedBytes());
  }

  private void checkOutput(Runs runs, List<Batch> batches, int partitions, boolean spill, OutputKeys keys)
      throws Exception {
    // Runs may be encoded in any order.
    for (int i = batches.size() - 1; i >= 0; i--) {
      encodeOrAdd(runs, i, batches.get(i), keys == null ? null : new FrameSealer(keys));
      if (spill && runs.memoryBytes() > 0 && i % 3 != 0) {
        assertTrue(runs.spill(Files.createTempFile(folder, "spill", "").toFile()) > 0);
        assertEquals(0, runs.memoryBytes());
      }
    }
    Path data = Files.createTempFile(folder, "data", "");
    long[] lengths = new long[partitions];
    long[] checksums = new long[partitions];
    long total = runs.commit(data.toFile(), NativeCore.CHECKSUM_CRC32C, lengths, checksums);
    assertEquals(0, runs.memoryBytes());
    byte[] bytes = Files.readAllBytes(data);
    assertEquals(total, bytes.length);
    int start = 0;
    for (int partition = 0; partition < partitions; partition++) {
      byte[] block = Arrays.copyOfRange(bytes, start, start += (int) lengths[partition]);
      CRC32C crc = new CRC32C();
      crc.update(block, 0, block.length);
      assertEquals(crc.getValue(), checksums[partition]);
      Object[] expected = rowsOf(batches, partition);
      assertArrayEquals(expected, Decoders.JAVA.rowsOfBlock(block, keys).toArray());
      assertArrayEquals(expected, Decoders.NATIVE.rowsOfBlock(block, keys).toArray());
      if (keys != null && block.length > 0) {
        SealedBlocksInArrays.check(block, new SealedBlock(keys, new int[] {partition}));
      }
    }
    assertEquals(bytes.length, start);
  }

  private static Object[] rowsOf(List<Batch> batches, int partition) {
    return batches.stream().flatMap(batch -> batch.rows().stream()).filter(placed -> placed.partition() == partition)
        .map(Placed::row).toArray();
  }

  @Test
  void spillFilesThatEndEarlyFailTheCommit() throws Exception {
    JavaArena arena = new JavaArena();
    arena.setLimit(16 * MIB);
    JavaRuns runs = new JavaRuns(3, arena, false, null);
    encode(runs, 0, sqlRows(new Random(3), 3, 4, 500));
    Path spill = Files.createTempFile(folder, "spill", "");
    runs.spill(spill.toFile());
    Files.write(spill, "cut".getBytes(StandardCharsets.UTF_8));
    Path data = folder.resolve("data");
    String message = assertThrows(IOException.class,
        () -> runs.commit(data.toFile(), NativeCore.CHECKSUM_NONE, new long[3], new long[0])).getMessage();
    assertTrue(message.startsWith("spill file " + spill + " ends ") && message.endsWith(" bytes early"), message);
    runs.close();
  }

  /** Frames that change places, or come twice, in a spill file: each is authentic, and of the same partition. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aSpillOfSealedFramesThatWasRearrangedFailsTheCommit(boolean inJava) throws Exception {
    JavaArena arena = new JavaArena();
    arena.setLimit(64 * MIB);
    // Rows of equal length, so that two frames have the same length too.
    byte[] row = sqlRows(new Random(3), 1, 4, 1).rows().get(0).row();
    Batch batch = new Batch(4, Collections.nCopies(400_000 / row.length, new Placed(0, row)));
    for (boolean twice : new boolean[] {false, true}) {
      Runs runs =
          inJava ? new JavaRuns(1, arena, false, KEYS) : new NativeRuns(1, blocks("none", "plain"), false, KEYS);
      encode(runs, 0, batch);
      Path spill = Files.createTempFile(folder, "spill", "");
      runs.spill(spill.toFile());
      byte[] bytes = Files.readAllBytes(spill);
      int frame = FrameHeader.BYTES + (int) FrameHeader.parse(bytes, 0).encodedBytes();
      assertEquals(FrameHeader.parse(bytes, 0).encodedBytes(), FrameHeader.parse(bytes, frame).encodedBytes());
      byte[] changed = bytes.clone();
      System.arraycopy(bytes, frame, changed, 0, frame);
      System.arraycopy(bytes, twice ? frame : 0, changed, frame, frame);
      Files.write(spill, changed);
      File data = folder.resolve("data").toFile();
      Exception failure = assertThrows(SpillChangedException.class,
          () -> runs.commit(data, NativeCore.CHECKSUM_NONE, new long[1], new long[0]));
      assertTrue(failure.getMessage().contains("was changed after it was written"), failure::toString);
      Files.write(spill, bytes);
      long written = runs.commit(data, NativeCore.CHECKSUM_NONE, new long[1], new long[0]);
      assertEquals(data.length(), written);
      runs.close();
    }
  }
}
