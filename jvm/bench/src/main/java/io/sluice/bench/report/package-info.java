/** From measurements to what people and programs read: statistics, JSON, the table, progress. */
package io.sluice.bench.report;
