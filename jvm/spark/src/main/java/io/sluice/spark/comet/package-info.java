/**
 * Shuffles of DataFusion Comet's exchanges, whose records are batches of columns. Comet's classes are reached by
 * reflection, and only from a shuffle whose dependency is Comet's: without Comet nothing here is loaded but {@link
 * io.sluice.spark.comet.CometDependency} and {@link io.sluice.spark.comet.CometSession}.
 */
package io.sluice.spark.comet;
