/**
 * The Spark side: a process that holds one application on one engine and runs workloads when told to.
 *
 * <p>Each engine has its own driver and executors for as long as the benchmark lasts: a Spark application
 * has one shuffle manager, and both engines' JVMs must be equally warm. While one runs, the other idles.
 */
package io.sluice.bench.driver;
