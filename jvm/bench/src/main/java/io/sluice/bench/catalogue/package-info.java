/**
 * Every workload by name, with its size, floor and class: those of {@code workload} and the queries of {@code tpch}.
 */
package io.sluice.bench.catalogue;
