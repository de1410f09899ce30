package io.sluice.spark.migration;

import io.sluice.spark.migration.Mapping.Fate;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Prints {@code docs/migration.md} from {@link MigrationTable}. */
public final class MigrationReference {
  private MigrationReference() {}

  /** The whole page. */
  public static String markdown() {
    StringBuilder page = new StringBuilder(HEAD);
    for (Project project : Project.values()) {
      page.append("\n### ").append(project.title()).append("\n\n| setting | | |\n| --- | --- | --- |\n");
      groups(project).forEach(group -> row(page, group));
    }
    return page.append('\n').append(WITHOUT_COUNTERPART).toString();
  }

  /** Settings that follow each other and have the same answer. */
  private static List<List<Mapping>> groups(Project project) {
    List<List<Mapping>> groups = new ArrayList<>();
    MigrationTable.all().stream().filter(mapping -> mapping.project() == project).forEach(mapping -> {
      List<Mapping> last = groups.isEmpty() ? List.of() : groups.get(groups.size() - 1);
      if (last.isEmpty() || !sameAnswer(last.get(0), mapping)) {
        groups.add(last = new ArrayList<>());
      }
      last.add(mapping);
    });
    return groups;
  }

  private static boolean sameAnswer(Mapping one, Mapping other) {
    return one.fate() == other.fate() && one.target().equals(other.target()) && one.why().equals(other.why());
  }

  private static void row(StringBuilder page, List<Mapping> group) {
    Mapping first = group.get(0);
    String keys = group.stream().map(mapping -> "`" + mapping.key() + "`").collect(Collectors.joining(", "));
    String fate = first.fate() == Fate.TRANSLATED ? first.fate().words() + " `" + first.target() + "`"
        : first.project() == Project.ENVIRONMENT ? "" : first.fate().words();
    page.append("| ").append(keys).append(" | ").append(fate).append(" | ").append(first.why()).append(" |\n");
  }

  /** Writes the page to the path given. */
  public static void main(String[] args) throws IOException {
    Files.writeString(Path.of(args[0]), markdown());
  }

  private static final String HEAD = """
      # From another shuffle manager to Sluice

      Generated from `MigrationTable` by `MigrationReference`; tests hold this page equal to the code, and the table
      complete against lists of the predecessors' settings.

      ## Step by step

      1. Translate the file of settings, by one of the commands below, and read what it prints: the settings that it
         does not know, and what is left to do by hand.
      2. Put Sluice's jar in the place of the predecessor's, as the [first steps](start.md#2-run-a-job-with-it) say for
         your Spark. RAPIDS' jar stays if you keep its SQL plugin.
      3. Compare the result with [Settings](#settings), line by line for those that became comments.
      4. Run `java -jar sluice-<version>.jar doctor --mode MODE` on a worker, with the mode of the translated file.
      5. Start one application with the translated file, look at the [tab *Sluice*](watching.md), and compare its
         results and time with those of the same application before.

      To go back, use the old file and the old jar.

      ## The commands

      <!-- tested by test_pages -->
      ```sh
      export SPARK_HOME=/path/to/spark
      java -jar sluice-<version>.jar conf --from spark-defaults.conf         # the translation, on standard output
      java -jar sluice-<version>.jar conf --from spark-defaults.conf --to sluice-defaults.conf
      ```

      With the [Python package](deployment/python.md), which needs PySpark beside it:

      <!-- tested by test_pages -->
      ```sh
      python -m sluice_spark conf --from FILE
      ```

      In a checkout, `./sluice conf --from FILE`.

      The file is read as Spark reads it and is never changed. A setting of a predecessor becomes a comment, below one
      that says why; where Sluice has a setting of the same meaning, it follows. Every other line stays byte for byte.
      On standard error come the numbers of settings translated, commented out and left alone, the settings that begin
      as a predecessor's do but are unknown, with their lines, and what is left to do by hand (jars). `--to` writes the
      file as a whole or not at all, and replaces an existing one only with `--force`. Translating a translation changes
      nothing.

      Nothing is written, and the exit code is 2, when the file is damaged (NUL bytes, bytes that are not UTF-8, a `\\u`
      that is no character, a last line that is to be continued), when a predecessor's setting or one of Sluice's is set
      twice, when two settings contradict each other, or when a value is outside the range of the setting that it
      becomes.

      ## Classes

      | value of `spark.shuffle.manager` | becomes |
      | --- | --- |
      | `com.nvidia.spark.rapids.spark….RapidsShuffleManager` | `io.sluice.spark.SluiceShuffleManager`, the same on every \
      line of Spark; the mode is that of `spark.rapids.shuffle.mode` |
      | `org.apache.spark.shuffle.rdma.RdmaShuffleManager` | the same, and `spark.sluice.mode=RDMA`: Spark's own writers and \
      files, moved by UCX |
      | `org.apache.spark.shuffle.UcxShuffleManager`, `org.apache.spark.shuffle.compat.spark_….UcxShuffleManager` | the \
      same, and `spark.sluice.mode=RDMA` |

      `io.sluice.spark.SluicePlugin` is added to `spark.plugins`; other plugins stay in the list. RAPIDS' SQL plugin
      (`com.nvidia.spark.SQLPlugin`) may stay: it runs operators on GPUs, and without RAPIDS' own shuffle manager it
      copies shuffled batches to host memory and hands them, with its own serializer, to the manager that is set. That
      was tried with a look-alike of the serializer, not with RAPIDS itself ([beside RAPIDS](gpu.md#beside-rapids)).
      If only the shuffle was wanted of RAPIDS, remove the plugin and its jar.

      Settings of a predecessor whose manager is not the one in the file had no effect, and become comments.

      ## Settings

      *stays*: Spark, UCX or RAPIDS' SQL plugin reads it, and the line is not touched.
      """;

  private static final String WITHOUT_COUNTERPART = """
      ## What the predecessors could be told and Sluice cannot

      | of the predecessors | with Sluice |
      | --- | --- |
      | size and number of bounce buffers | none are needed: a reader leases memory for what it has asked for, the reads \
      fill it, and the decoder reads it there. `spark.reducer.maxSizeInFlight` limits it for each task; an executor \
      holds at most three times that per task, and no more than a share of its container |
      | list of CPUs for the transport's threads | none: each executor has one such thread, which sleeps when idle. Bind the \
      whole executor near its card (`numactl --cpunodebind`, a container's cpuset) |
      | cache of partition locations | none: a reader asks the owner of a map output where its blocks are, in one message \
      for a batch of blocks |
      | statistics on and off | none: counters, and latencies of fetched blocks for each executor and for its slowest \
      peers (`read.fetch…`, the page *Executors* of the tab *Sluice*), are always kept. [metrics.md](metrics.md) |
      | `spark.shuffle.spill.compress` | honoured where Spark honours it: sorts and maps that spill use Spark's spill files. \
      Spills of map tasks are frames, or Spark's own in mode RDMA, and follow `spark.shuffle.compress`, as Spark's do |
      """;
}
