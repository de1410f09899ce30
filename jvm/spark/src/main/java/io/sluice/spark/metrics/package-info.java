/**
 * The counters: one enum that names them, one object per process that holds their values, which the plugin shows as
 * Spark metrics. What tasks count is also kept by shuffle and stage, and sent to the driver ({@code TaskFigures}).
 */
package io.sluice.spark.metrics;
