/**
 * The counters: one enum that names them, one object per process that holds their values. They only count; the plugin
 * shows them as Spark metrics.
 */
package io.sluice.spark.metrics;
