package io.sluice.spark.conf;

/**
 * What of an application people can see in Spark's UI and in the History Server.
 *
 * @param events whether the driver posts Sluice's events: somebody reads them
 * @param tab whether Spark's UI gets a tab of Sluice
 * @param retainedShuffles how many shuffles the tab remembers
 */
public record UiSettings(boolean events, boolean tab, int retainedShuffles) {}
