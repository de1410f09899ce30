package io.sluice.spark.conf;

/**
 * The settings of where map outputs live.
 *
 * @param kind what the application asks for; there are cases in which outputs go to files nevertheless
 * @param cacheLimitBytes of the map outputs in memory; not used with files
 */
public record StoreSettings(Store kind, long cacheLimitBytes) {}
