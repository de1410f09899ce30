/**
 * What is measured: one class per workload, listed in {@code catalogue}.
 *
 * <p>A workload runs inside the driver of a Spark application and knows nothing about engines: the same
 * code runs on Spark's shuffle and on Sluice. The classes use only the Spark methods whose Java signatures
 * are the same from 3.3 to 4.2, because one jar of ours serves every line.
 */
package io.sluice.bench.workload;
