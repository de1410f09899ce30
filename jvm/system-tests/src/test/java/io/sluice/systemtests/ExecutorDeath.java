package io.sluice.systemtests;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataTypes;

/** A SQL function that halts its executor's process, without shutdown hooks, the first time that it gets a given id. */
final class ExecutorDeath implements UDF1<Long, Long> {
  private static final long serialVersionUID = 1L;
  private static final int EXIT_CODE = 137;

  private final String marker;
  private final long fatalId;

  ExecutorDeath(Path marker, long fatalId) {
    this.marker = marker.toString();
    this.fatalId = fatalId;
  }

  /** Registers it as {@code name}; {@code marker} is created when it halts an executor and must not exist yet. */
  static void register(SparkSession spark, String name, Path marker, long fatalId) {
    spark.udf().register(name, new ExecutorDeath(marker, fatalId), DataTypes.LongType);
  }

  @Override
  public Long call(Long id) {
    if (id == fatalId && firstTime()) {
      Runtime.getRuntime().halt(EXIT_CODE);
    }
    return id;
  }

  private boolean firstTime() {
    try {
      Files.createFile(Path.of(marker));
      return true;
    } catch (FileAlreadyExistsException e) {
      return false;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
