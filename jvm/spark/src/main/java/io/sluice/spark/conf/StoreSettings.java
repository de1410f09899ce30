package io.sluice.spark.conf;

/**
 * The settings of where map outputs live.
 *
 * @param kind the requested store; in some cases outputs go to files nevertheless
 * @param cacheLimit of the map outputs in memory; not used with files
 */
public record StoreSettings(Store kind, CacheLimit cacheLimit) {}
