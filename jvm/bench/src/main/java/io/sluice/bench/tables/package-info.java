/**
 * Benchmarks that others defined, as far as they are alike: tables that are made once per scale, and queries on them.
 *
 * <pre>
 *   Benchmark          names, sizes and queries of TPC-H and TPC-DS
 *     GeneratedTable   name, columns, and how the generator's port makes a row
 *   TableFiles         where the tables of one scale factor are
 *     ParquetTables    writes and registers them (Spark)
 * </pre>
 *
 * <p>Only the class marked with Spark loads a Spark class.
 */
package io.sluice.bench.tables;
