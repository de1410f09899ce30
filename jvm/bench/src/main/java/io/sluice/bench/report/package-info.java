/** Turns measurements into output: statistics, JSON, the table, progress. */
package io.sluice.bench.report;
