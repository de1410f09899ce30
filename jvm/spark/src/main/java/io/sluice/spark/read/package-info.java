/**
 * Spark's {@code ShuffleReader}, in two forms: {@link io.sluice.spark.read.SluiceShuffleReader} reads shuffles of Sluice's
 * frames through the packages {@code fetch}, {@code decode} and {@code order}; {@link io.sluice.spark.read.SparkFormatReader}
 * reads shuffles that Spark's own writers wrote, where their blocks travel one-sidedly.
 *
 * <p>Not here: which shuffles are read this way ({@code SluiceShuffleManager}).
 */
package io.sluice.spark.read;
