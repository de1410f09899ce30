package io.sluice.bench.tables;

import io.sluice.bench.tpcds.TpcdsQueries;
import io.sluice.bench.tpcds.TpcdsTable;
import io.sluice.bench.tpch.QueryText;
import io.sluice.bench.tpch.Table;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * A benchmark that others defined: tables of any scale and queries on them. Its workloads are called after it and the
 * query, as {@code tpch-q5}. Loads no Spark class.
 */
public enum Benchmark {

  /** 22 queries on eight tables, with the specification's validation parameters. */
  TPCH("tpch", "TPC-H", 8_660_030, 115, "1",
      IntStream.rangeClosed(1, QueryText.QUERIES).mapToObj(number -> "q" + number).toList()),

  /** The 99 queries, 103 texts, that Spark publishes with its tests, on 24 tables. */
  TPCDS("tpcds", "TPC-DS", 19_557_335, 55, "1", TpcdsQueries.NAMES);

  /** Workloads of TPC-H's that are no queries of it: its largest table read, and sent through one exchange by hash. */
  public static final String SCAN = "scan";
  public static final String EXCHANGE = "exchange";

  private final String label;
  private final String title;
  private final long rowsAtScale1;
  private final int rowBytes;
  private final String version;
  private final List<String> queries;

  /**
   * @param rowsAtScale1 about how many rows all tables have at scale 1
   * @param rowBytes about how many bytes of text a row is
   * @param version counts up with every change of the tables' columns, contents or files
   */
  Benchmark(String label, String title, long rowsAtScale1, int rowBytes, String version, List<String> queries) {
    this.label = label;
    this.title = title;
    this.rowsAtScale1 = rowsAtScale1;
    this.rowBytes = rowBytes;
    this.version = version;
    this.queries = queries;
  }

  /** The name on the command line. */
  public String label() {
    return label;
  }

  /** The name for readers. */
  public String title() {
    return title;
  }

  /** About how many rows all tables have at {@code scale}; some tables grow slower than the scale or not at all. */
  public long rows(double scale) {
    return Math.round(rowsAtScale1 * scale);
  }

  /** About how many bytes of text a row is: all tables are a gigabyte at scale 1. */
  public int rowBytes() {
    return rowBytes;
  }

  /** Tables that were made by another version are made anew. */
  public String version() {
    return version;
  }

  /** The queries' names within the benchmark: {@code q1}. */
  public List<String> queries() {
    return queries;
  }

  /** Every table, in the order in which they are made. */
  public List<? extends GeneratedTable> tables() {
    return switch (this) {
      case TPCH -> List.of(Table.values());
      case TPCDS -> TpcdsTable.ALL;
    };
  }

  /** The table called {@code name}. */
  public GeneratedTable table(String name) {
    return tables().stream().filter(table -> table.label().equals(name)).findFirst().orElseThrow(
        () -> new IllegalArgumentException(title + " has no table " + name));
  }

  /** The SQL of the query, or other workload, called {@code name} on {@code files}. */
  public String text(String name, TableFiles files) {
    return switch (this) {
      case TPCH -> switch (name) {
        case SCAN -> "SELECT * FROM lineitem";
        case EXCHANGE -> "SELECT /*+ REPARTITION(200, l_orderkey) */ * FROM lineitem";
        default -> QueryText.of(Integer.parseInt(name.substring(1)), files.scale()).sql();
      };
      case TPCDS -> TpcdsQueries.text(files.queries(), name);
    };
  }

  /**
   * Names of tables that {@code sql} reads, in the order in which they are made; it may be others, too, whose names
   * are words of it.
   */
  public List<String> tablesIn(String sql) {
    return tables().stream().map(GeneratedTable::label)
        .filter(name -> Pattern.compile("\\b" + name + "\\b", Pattern.CASE_INSENSITIVE).matcher(sql).find()).toList();
  }

  /** The benchmark whose tables the workload called {@code workload} reads, if it reads any. */
  public static Optional<Benchmark> of(String workload) {
    return Arrays.stream(values()).filter(benchmark -> workload.startsWith(benchmark.label + "-")).findFirst();
  }

  /** Whether the workload called {@code workload} is a query of a benchmark, and not another one on its tables. */
  public static boolean isQuery(String workload) {
    return of(workload).filter(benchmark -> benchmark.queries.contains(benchmark.query(workload))).isPresent();
  }

  /** The part of a workload's name that tells it from the benchmark's other queries. */
  public String query(String workload) {
    return workload.substring(label.length() + 1);
  }
}
