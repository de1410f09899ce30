/**
 * {@code ./sluice bench}, {@code demo}, {@code report} and {@code figures}: the same Spark jobs on Spark's shuffle and
 * on Sluice.
 *
 * <pre>
 *   Main, …Command   arguments, exit status
 *     run       engines, settings, driver processes, order of runs       (this process)
 *       protocol  JSON lines on pipes
 *     driver    a Spark application on one engine                       (one process each)
 *       catalogue  every workload by name
 *         workload  the jobs;  tpch  those of TPC-H, with their tables;  check  digests of their results
 *     report    statistics, JSON, table, progress;  page  the HTML report
 * </pre>
 */
package io.sluice.bench;
