package io.sluice.spark.migration;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.spark.network.util.JavaUtils;

/** From a predecessor's value to the value of the setting that takes its place. */
enum Conversion {
  SAME(Function.identity()),
  /** RAPIDS uses the task's own thread with 1, and Spark's code, on the task's thread too, with 0. */
  POOL_THREADS(value -> Integer.parseInt(value) == 1 ? "0" : value),
  /** A number without a unit is bytes there and MiB for Spark. */
  MEBIBYTES(value -> Math.max(1, JavaUtils.byteStringAsBytes(value) >> 20) + "m"),
  /** A number without a unit is milliseconds there. */
  MILLISECONDS(value -> Long.parseLong(value) + "ms"),
  UCX_OR_NOT(Conversion::ucxOrNot),
  /** May become empty, which is UCX's default too. */
  WITHOUT_CUDA(Conversion::withoutCuda);

  private final Function<String, String> function;

  Conversion(Function<String, String> function) {
    this.function = function;
  }

  /** @throws IllegalArgumentException if {@code value} is not a value of the predecessor's setting */
  String of(String value) {
    return function.apply(value);
  }

  private static String ucxOrNot(String value) {
    return switch (value.toLowerCase(Locale.ROOT)) {
      case "true" -> "UCX";
      case "false" -> "MULTITHREADED";
      default -> throw new IllegalArgumentException("it must be true or false");
    };
  }

  /**
   * A list of UCX's transports without those of GPU memory; what {@code cuda_ipc} was within a machine, {@code sm} is
   * for host memory. A list that begins with {@code ^} excludes.
   */
  private static String withoutCuda(String value) {
    if (!value.contains("cuda")) {
      return value;
    }
    boolean excludes = value.startsWith("^");
    List<String> names = Arrays.stream((excludes ? value.substring(1) : value).split(",")).map(String::trim)
        .map(name -> name.equals("cuda_ipc") && !excludes ? "sm" : name)
        .filter(name -> !name.startsWith("cuda")).distinct().toList();
    return names.isEmpty() ? "" : names.stream().collect(Collectors.joining(",", excludes ? "^" : "", ""));
  }
}
