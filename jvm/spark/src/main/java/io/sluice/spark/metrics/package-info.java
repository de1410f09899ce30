/**
 * The counters: one enum that names them, one object per process that holds their values. They only count; who
 * shows them is the plugin's business.
 */
package io.sluice.spark.metrics;
