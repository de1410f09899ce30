/**
 * The 22 queries of TPC-H, with the specification's validation parameters, and the eight tables they read.
 *
 * <pre>
 *   Table          names, columns, and how dbgen's port makes a row
 *   QueryText      q1.sql … q22.sql
 *     TpchQuery    one of them as a workload (Spark)
 * </pre>
 *
 * <p>Only the class marked with Spark loads a Spark class. There are no refresh functions and no streams: it
 * is the queries' time that is compared, not a TPC-H result, which only an audited run may be called.
 */
package io.sluice.bench.tpch;
