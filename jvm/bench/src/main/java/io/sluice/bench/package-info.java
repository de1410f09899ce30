/**
 * {@code ./sluice bench}, {@code demo}, {@code report}, {@code figures}, {@code proof} and {@code soak}: the same Spark
 * jobs on Spark's shuffle and on Sluice.
 *
 * <pre>
 *   Main, …Command   arguments, exit status
 *     run       engines, settings, driver processes, order of runs       (this process)
 *       protocol  JSON lines on pipes
 *     driver    a Spark application on one engine                       (one process each)
 *       catalogue  every workload by name
 *         workload  the jobs;  check  digests of their results
 *         soak      random programs, and faults to run them with
 *         tables    benchmarks with tables;  tpch, tpcds  their rows and queries
 *     report    statistics, JSON, table, progress;  page  the HTML report
 *       scale     a model of larger clusters, from measured costs
 * </pre>
 */
package io.sluice.bench;
