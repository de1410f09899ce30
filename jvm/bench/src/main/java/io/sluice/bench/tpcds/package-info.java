/**
 * The queries of TPC-DS as Spark publishes them with its tests, and the tables that they read.
 *
 * <pre>
 *   TpcdsTable     names, columns, and how dsdgen's port makes a row
 *   TpcdsQueries   the queries' names
 *     TpcdsQuery   one of them as a workload (Spark)
 * </pre>
 *
 * <p>Only the class marked with Spark loads a Spark class. The texts are none of ours: {@code ./sluice tpcds-queries}
 * takes them from Spark's published test jar. There are no refresh functions and no streams: it is the queries' time
 * that is compared, not a TPC-DS result, which only an audited run may be called.
 */
package io.sluice.bench.tpcds;
