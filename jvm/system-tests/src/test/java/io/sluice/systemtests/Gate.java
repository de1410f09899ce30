package io.sluice.systemtests;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataTypes;

/**
 * A SQL function in which every task waits until the test opens the gate; the test can see when the first task waits.
 */
final class Gate implements UDF1<Long, Long> {
  private static final long serialVersionUID = 1L;
  /** A test may look at pages in a browser meanwhile. */
  private static final Duration LIMIT = Duration.ofSeconds(300);

  private final String folder;
  private transient boolean passed;

  private Gate(Path folder) {
    this.folder = folder.toString();
  }

  /** Registers it as {@code name}; {@code folder} exists, and all executors and the test have access to it. */
  static void register(SparkSession spark, String name, Path folder) {
    spark.udf().register(name, new Gate(folder), DataTypes.LongType);
  }

  static void awaitReached(Path folder) {
    Await.until(LIMIT, () -> "no task came to the gate", () -> Files.exists(reached(folder)));
  }

  /** Lets all tasks pass, now and later. */
  static void open(Path folder) throws IOException {
    Files.createFile(opened(folder));
  }

  @Override
  public Long call(Long id) {
    if (!passed) {
      pass(Path.of(folder));
      passed = true;
    }
    return id;
  }

  private static void pass(Path folder) {
    try {
      Files.createFile(reached(folder));
    } catch (FileAlreadyExistsException e) {
      // Another task has created it before.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Await.until(LIMIT, () -> "the gate did not open", () -> Files.exists(opened(folder)));
  }

  private static Path reached(Path folder) {
    return folder.resolve("reached");
  }

  private static Path opened(Path folder) {
    return folder.resolve("opened");
  }
}
