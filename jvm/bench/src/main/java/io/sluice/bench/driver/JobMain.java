package io.sluice.bench.driver;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * Runs a program of the user's in this process as its driver: {@code class NAME ARGUMENT…}, or {@code sql FILE}, whose
 * statements are separated by a semicolon at the end of a line; the rows of queries are computed and dropped. Settings
 * of Spark are system properties.
 */
public final class JobMain {

  private JobMain() {}

  public static void main(String[] arguments) throws Exception {
    if (arguments[0].equals("sql")) {
      runStatements(Path.of(arguments[1]));
    } else {
      runClass(arguments[1], Arrays.copyOfRange(arguments, 2, arguments.length));
    }
    // A program may leave its session to Spark's shutdown hook.
    if (SparkSession.getDefaultSession().isDefined()) {
      SparkSession.getDefaultSession().get().stop();
    }
    System.exit(0);
  }

  private static void runClass(String name, String[] arguments) throws Exception {
    try {
      Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    }
  }

  private static void runStatements(Path file) throws IOException {
    SparkSession spark = SparkSession.builder().getOrCreate();
    for (String statement : statements(Files.readString(file))) {
      Dataset<Row> rows = spark.sql(statement);
      String word = statement.split("\\s+", 2)[0].toLowerCase(Locale.ROOT);
      // Commands have run when sql returns; a query has not.
      if (word.equals("select") || word.equals("with") || word.startsWith("(")) {
        rows.write().format("noop").mode("overwrite").save();
      }
    }
  }

  /** The statements of a file, without comments of whole lines. */
  static List<String> statements(String text) {
    String code = text.lines().filter(line -> !line.strip().startsWith("--")).collect(Collectors.joining("\n"));
    return Arrays.stream(code.split(";\\s*(\n|$)")).map(String::strip).filter(each -> !each.isEmpty()).toList();
  }
}
