package io.sluice.spark.conf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.NativeCore;
import io.sluice.spark.SluiceException;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.ToLongFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkConf;
import org.apache.spark.network.util.JavaUtils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SettingsTest {
  private static final long MIB = 1 << 20;
  /** A process that runs no tasks, of a machine of 6 cores and 8 GiB, with a heap of 1 GiB. */
  private static final ProcessGrant DRIVER = new ProcessGrant(false, OptionalInt.empty(), 6, OptionalInt.empty(),
      OptionalLong.empty(), 1024 * MIB, 8192 * MIB);

  private static Settings settings(String... keysAndValues) {
    SparkConf conf = new SparkConf(false).set("spark.executor.cores", "4").set("spark.task.cpus", "2");
    for (int i = 0; i < keysAndValues.length; i += 2) {
      conf.set(keysAndValues[i], keysAndValues[i + 1]);
    }
    return Settings.from(conf, DRIVER);
  }

  @Test
  void aNumberOfThreadsIsUsedWhateverTasksDo() {
    assertEquals(new PoolThreads(0, 0, false), settings("spark.sluice.writer.threads", "0").writer().threads());
    assertEquals(new PoolThreads(20, 20, false), settings("spark.sluice.reader.threads", "20").reader().threads());
  }

  @Test
  void defaultsResolveEveryAuto() {
    Settings settings = settings();
    assertTrue(settings.enabled());
    assertEquals(Mode.MULTITHREADED, settings.mode());
    assertEquals(new WriterSettings(new PoolThreads(3, 2, true), MIB, OptionalLong.empty()), settings.writer());
    assertEquals(new ReaderSettings(new PoolThreads(3, 2, true), 128 * MIB), settings.reader());
    assertEquals(256 * MIB, settings.memory().limit().bytes());
    assertEquals(120_000_000_000L, settings.memory().waitNanos());
    assertEquals(NativeCore.LEVEL_FAST, settings.blocks().level());
    assertEquals(OptionalInt.of(NativeCore.CODEC_LZ4), settings.blocks().codec());
    assertEquals(OptionalInt.of(NativeCore.CHECKSUM_ADLER32), settings.blocks().checksum());
    assertEquals("", settings.nativeLibrary());
    assertEquals(
        new GpuSettings(GpuUse.OFF, OptionalLong.empty(), 0, 32L << 20, 4L << 30, 4L << 20, 30_000), settings.gpu());
  }

  @ParameterizedTest
  @CsvSource({
    "spark.sluice.enabled, maybe",
    "spark.sluice.mode, FAST",
    "spark.sluice.codec.level, 3",
    "spark.sluice.writer.threads, -1",
    "spark.sluice.writer.threads, 257",
    "spark.sluice.writer.threads, many",
    "spark.sluice.reader.threads, 257",
    "spark.sluice.reader.maxBytesInFlight, 1k",
    "spark.sluice.writer.pageBytes, 63k",
    "spark.sluice.writer.pageBytes, 65m",
    "spark.sluice.writer.batchBytes, 1023k",
    "spark.sluice.writer.batchBytes, 2g",
    "spark.sluice.memory.limit, 15m",
    "spark.sluice.memory.waitTimeout, 99ms",
    "spark.sluice.memory.waitTimeout, 2h",
    "spark.sluice.memory.failOnLeak, yes",
    "spark.sluice.codec, java",
    "spark.sluice.transport, tcp",
    "spark.sluice.transport.timeout, 99ms",
    "spark.sluice.transport.timeout, 2h",
    "spark.sluice.transport.retryDelay, 1ms",
    "spark.sluice.transport.maxConnections, 0",
    "spark.sluice.transport.maxConnections, 65537",
    "spark.sluice.transport.maxConnections, many",
    "spark.sluice.transport.maxMappedBytes, 0",
    "spark.sluice.transport.maxMappedBytes, -1g",
    "spark.sluice.transport.maxMappedBytes, 15m",
    "spark.sluice.transport.maxMappedRegions, 0",
    "spark.sluice.transport.maxMappedRegions, -1",
    "spark.sluice.transport.maxMappedRegions, many",
    "spark.sluice.gpu, true",
    "spark.sluice.gpu.memory.limit, 191m",
    "spark.sluice.gpu.pinned.limit, 3m",
    "spark.sluice.gpu.pinned.limit, 65m",
    "spark.sluice.gpu.minBatchBytes, 63k",
    "spark.sluice.gpu.timeout, 99ms",
    "spark.sluice.ucx.allowUnauthenticatedTcp, 1"
  })
  void valueOutOfRangeNamesKeyValueAndRange(String key, String value) {
    String message = assertThrows(SluiceException.class, () -> settings(key, value)).getMessage();
    String range = SluiceSettings.all().stream().filter(s -> s.key().equals(key)).findFirst().orElseThrow().range();
    assertTrue(message.contains(key) && message.contains('"' + value + '"') && message.contains(range), message);
  }

  /** Every setting with a range refuses what is one below it and one above it, 0 if that is outside, and no number. */
  @Test
  void everyRangeIsEnforced() {
    int ranges = 0;
    for (Setting<?> setting : SluiceSettings.all()) {
      Matcher range = Pattern.compile("from (\\S+) to (\\S+)").matcher(setting.range());
      if (range.find()) {
        ranges++;
        setting.parse(range.group(1));
        setting.parse(range.group(2));
        boolean time = setting.range().contains("a time");
        boolean size = setting.range().contains("a size");
        String unit = time ? "ms" : size ? "b" : "";
        ToLongFunction<String> number = text -> time ? JavaUtils.timeStringAsMs(text)
            : size ? JavaUtils.byteStringAsBytes(text) : Long.parseLong(text);
        long least = number.applyAsLong(range.group(1));
        List<String> wrong = new ArrayList<>(List.of(least - 1 + unit, number.applyAsLong(range.group(2)) + 1 + unit,
            "-1", "x", ""));
        if (least > 0) {
          wrong.add("0");
        }
        wrong.forEach(value -> valueOutOfRangeNamesKeyValueAndRange(setting.key(), value));
      } else if (setting.range().startsWith("one of") || setting.range().startsWith("true")) {
        valueOutOfRangeNamesKeyValueAndRange(setting.key(), "x");
      }
    }
    assertTrue(ranges >= 11, ranges + " ranges");
  }

  @ParameterizedTest
  @CsvSource({
    "spark.sluice.writer.pageBytes, 64k", "spark.sluice.writer.pageBytes, 64m",
    "spark.sluice.writer.batchBytes, 1m", "spark.sluice.writer.batchBytes, 1g",
    "spark.sluice.writer.batchBytes, AUTO", "spark.sluice.writer.threads, 0",
    "spark.sluice.codec.level, Small", "spark.sluice.enabled, FALSE", "spark.sluice.memory.limit, 16m"
  })
  void valuesAtTheEdgeAreAllowed(String key, String value) {
    settings(key, value);
  }

  @Test
  void unknownKeyIsNamed() {
    String message =
        assertThrows(SluiceException.class, () -> settings("spark.sluice.writer.thread", "4")).getMessage();
    assertTrue(message.startsWith("unknown settings [spark.sluice.writer.thread (did you mean "
        + "spark.sluice.writer.threads?)]: correct or remove them. "), message);
  }

  @ParameterizedTest
  @CsvSource({"MULTITHREADED, SLUICE, FILES, NETTY", "UCX, SLUICE, CACHE, UCX", "RDMA, SPARK, FILES, UCX",
    "CACHE_ONLY, SLUICE, CACHE, NETTY"})
  void modesSetTheDocumentedDefaults(String mode, Codec codec, Store store, Transport transport) {
    Settings settings = settings("spark.sluice.mode", mode);
    assertEquals(codec, settings.codec());
    assertEquals(store, settings.store().kind());
    assertEquals(transport, settings.transport().transport());
  }

  /** Two tasks: what Spark lets them fetch at once, or a sixth of the overhead, and the rest is for a task alone. */
  @ParameterizedTest
  @CsvSource({"384m, 64, 64", "1200m, 200, 744", "9g, 288, 8672"})
  void blocksThatArriveOneSidedlyFitTheContainer(String overhead, long receivedMib, long ceilingMib) {
    Settings settings = settings("spark.master", "yarn", "spark.executor.memoryOverhead", overhead,
        "spark.sluice.transport", "ucx");
    assertEquals(receivedMib, settings.transport().receiveLimitBytes() / MIB);
    assertEquals(ceilingMib, settings.memory().limit().ceilingBytes() / MIB);
  }

  @ParameterizedTest
  @CsvSource({"RDMA, spark.sluice.store, cache", "CACHE_ONLY, spark.sluice.codec, spark"})
  void codecSparkWithTheCacheIsAnError(String mode, String key, String value) {
    String message =
        assertThrows(SluiceException.class, () -> settings("spark.sluice.mode", mode, key, value)).getMessage();
    assertTrue(message.contains("spark.sluice.store = cache needs spark.sluice.codec = sluice"), message);
  }

  @Test
  void theCacheOfAGpuIsAPartOfItsMemory() {
    assertEquals(2L << 30, settings("spark.sluice.gpu.cache.limit", "2g").gpu().cacheLimitBytes());
    String[] equal = {"spark.sluice.gpu.cache.limit", "2g", "spark.sluice.gpu.memory.limit", "2g"};
    assertEquals(OptionalLong.of(2L << 30), settings(equal).gpu().memoryLimitBytes());
    String[] more = {"spark.sluice.gpu.cache.limit", "3g", "spark.sluice.gpu.memory.limit", "2g"};
    String message = assertThrows(SluiceException.class, () -> settings(more)).getMessage();
    assertTrue(message.contains("spark.sluice.gpu.cache.limit is 3221225472 bytes")
        && message.contains("spark.sluice.gpu.memory.limit") && message.contains("2147483648"), message);
  }

  @Test
  void theCacheHasALimit() {
    assertEquals(1L << 30, settings().store().cacheLimit().bytes());
    assertEquals(5L << 20, settings("spark.sluice.cache.hostLimit", "5m").store().cacheLimit().bytes());
  }

  @Test
  void aSettingOfTheUserWinsOverTheMode() {
    Settings settings = settings("spark.sluice.mode", "RDMA", "spark.sluice.codec", "sluice");
    assertEquals(Codec.SLUICE, settings.codec());
    assertEquals(Transport.UCX, settings.transport().transport());
    assertEquals(Transport.NETTY,
        settings("spark.sluice.mode", "RDMA", "spark.sluice.transport", "netty").transport().transport());
    assertEquals(Transport.AUTO, settings("spark.sluice.transport", "auto").transport().transport());
    assertEquals(Codec.SPARK, settings("spark.sluice.codec", "spark").codec());
  }

  @Test
  void transportSettingsAreReadWithTheirUnits() {
    TransportSettings defaults = settings().transport();
    assertEquals(
        new TransportSettings(Transport.NETTY, "", 20_000, 30_000_000_000L, false, 5_000, 60_000, 1024, 2048 * MIB,
            16_384, false,
            144 * MIB * settings().cores().tasks()),
        defaults);
    assertFalse(defaults.oneSided());
    TransportSettings set = settings("spark.sluice.transport", "UCX", "spark.sluice.ucx.library", "/opt/ucx/lib",
        "spark.sluice.transport.timeout", "1500ms", "spark.sluice.transport.retryDelay", "5s",
        "spark.sluice.transport.maxConnections", "7", "spark.sluice.transport.earlyStart", "true",
        "spark.sluice.transport.heartbeatInterval", "1s", "spark.sluice.transport.heartbeatTimeout", "2s",
        "spark.sluice.transport.maxReceiveBytes", "1g",
        "spark.sluice.transport.maxMappedBytes", "64m", "spark.sluice.transport.maxMappedRegions", "100",
        "spark.sluice.ucx.allowUnauthenticatedTcp", "true").transport();
    assertEquals(
        new TransportSettings(Transport.UCX, "/opt/ucx/lib", 1500, 5_000_000_000L, true, 1_000, 2_000, 7, 64 * MIB, 100,
            true, 1024 * MIB),
        set);
    assertTrue(set.oneSided());
  }

  @Test
  void executorsAreNotTakenForGoneBetweenTwoHeartbeats() {
    String message = assertThrows(SluiceException.class, () -> settings(
        "spark.sluice.transport.heartbeatInterval", "10s", "spark.sluice.transport.heartbeatTimeout", "15s"))
        .getMessage();
    assertTrue(message.contains("heartbeatTimeout is 15000 ms") && message.contains("is 10000 ms"), message);
  }

  @ParameterizedTest
  @CsvSource({
    "lz4, 1", "LZ4, 1", "zstd, 2", "snappy, 3", "org.apache.spark.io.ZStdCompressionCodec, 2", "lzf, -1",
    "com.example.Codec, -1"
  })
  void compressionCodecFollowsSparks(String codec, int expected) {
    assertEquals(expected, settings("spark.io.compression.codec", codec).blocks().codec().orElse(-1));
  }

  @Test
  void shuffleCompressFalseMeansPlainForEveryCodec() {
    BlockSettings blocks = settings("spark.shuffle.compress", "false", "spark.io.compression.codec", "lzf").blocks();
    assertEquals(NativeCore.LEVEL_PLAIN, blocks.level());
    assertEquals(OptionalInt.of(NativeCore.CODEC_NONE), blocks.codec());
  }

  @ParameterizedTest
  @CsvSource({"ADLER32, true, 1", "crc32, true, 2", "CRC32C, true, 3", "XXH3, true, -1", "XXH3, false, 0"})
  void checksumAlgorithmFollowsSparks(String algorithm, String enabled, int expected) {
    BlockSettings blocks = settings(
        "spark.shuffle.checksum.algorithm", algorithm, "spark.shuffle.checksum.enabled", enabled).blocks();
    assertEquals(expected, blocks.checksum().orElse(-1));
  }

  @Test
  void withOffHeapEnabledTheLimitIsSparks() {
    Settings settings = settings("spark.memory.offHeap.enabled", "true", "spark.memory.offHeap.size", "80m");
    assertEquals(80 * MIB, settings.memory().totalBytes());
    assertEquals(5 * MIB, settings.memory().sortBytes(2));
  }

  @Test
  void everyDeclaredSettingIsInOneGroup() throws IllegalAccessException {
    List<Setting<?>> declared = new ArrayList<>();
    for (Field field : SluiceSettings.class.getFields()) {
      if (field.getType() == Setting.class) {
        declared.add((Setting<?>) field.get(null));
      }
    }
    assertEquals(declared.size(), SluiceSettings.all().size());
    assertEquals(new HashSet<>(declared), new HashSet<>(SluiceSettings.all()));
  }

  @Test
  void documentationEqualsTheDeclarations() throws IOException {
    Path page = Path.of(System.getProperty("sluice.repository"), "docs", "configuration.md");
    assertEquals(Files.readString(page), SettingsReference.markdown(),
        "run SettingsReference with the path of docs/configuration.md");
  }
}
