package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.Adler32;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The checksum files beside map outputs hold the checksums that the JDK computes over each partition's bytes. */
class ChecksumFilesTest {
  private static final int PARTITIONS = 13;

  @ParameterizedTest
  @ValueSource(strings = {"ADLER32", "CRC32", "CRC32C"})
  void checksumFilesHoldEachPartitionsChecksum(String algorithm) throws IOException {
    assumeTrue(!algorithm.equals("CRC32C") || !org.apache.spark.package$.MODULE$.SPARK_VERSION().startsWith("3."),
        "Spark 3 has no CRC32C");
    try (SparkApplication application =
        SparkApplication.on(Engine.UNDER_TEST)
            // When the files are read, the driver has no reference to the shuffle left, so Spark's cleaner would delete
            // them.
            .set("spark.cleaner.referenceTracking", "false")
            .set("spark.shuffle.checksum.algorithm", algorithm)
            .start()) {
      shuffle(application);
      List<Path> outputs = ShuffleFiles.data(application.localDir());
      assertEquals(3, outputs.size());
      for (Path data : outputs) {
        assertChecksums(application.localDir(), data, algorithm);
      }
    }
  }

  @Test
  void withChecksumsDisabledThereAreNoChecksumFiles() {
    try (SparkApplication application =
        SparkApplication.on(Engine.UNDER_TEST).set("spark.shuffle.checksum.enabled", "false").start()) {
      shuffle(application);
      assertTrue(ShuffleFiles.named(application.localDir(), ".*checksum.*").isEmpty());
    }
  }

  private static void shuffle(SparkApplication application) {
    assertEquals(5000,
        Fingerprint.of(Tables.events(application.session(), 5000, 3).repartition(PARTITIONS, col("d"))).rows());
  }

  private static void assertChecksums(Path localDir, Path data, String algorithm) throws IOException {
    String name = data.getFileName().toString().replace(".data", ".checksum." + algorithm);
    LongBuffer checksums = longs(ShuffleFiles.named(localDir, name.replace(".", "\\.")).get(0));
    LongBuffer offsets = longs(ShuffleFiles.index(localDir, data));
    byte[] bytes = Files.readAllBytes(data);
    assertEquals(PARTITIONS, checksums.capacity());
    assertEquals(bytes.length, offsets.get(PARTITIONS));
    for (int partition = 0; partition < PARTITIONS; partition++) {
      Checksum expected = checksum(algorithm);
      int start = (int) offsets.get(partition);
      expected.update(bytes, start, (int) offsets.get(partition + 1) - start);
      assertEquals(expected.getValue(), checksums.get(partition), data + " partition " + partition);
    }
  }

  private static LongBuffer longs(Path file) throws IOException {
    return ByteBuffer.wrap(Files.readAllBytes(file)).asLongBuffer();
  }

  private static Checksum checksum(String algorithm) {
    return switch (algorithm) {
      case "ADLER32" -> new Adler32();
      case "CRC32" -> new CRC32();
      case "CRC32C" -> new CRC32C();
      default -> throw new IllegalArgumentException(algorithm);
    };
  }
}
