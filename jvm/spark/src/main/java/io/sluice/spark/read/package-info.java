/**
 * Spark's {@code ShuffleReader}, in two forms: {@link io.sluice.spark.read.SluiceShuffleReader} reads shuffles of
 * Sluice's frames through the packages {@code fetch}, {@code decode} and {@code order}; {@link
 * io.sluice.spark.read.SparkFormatReader} reads shuffles that Spark's own writers wrote, where their blocks travel
 * one-sidedly.
 *
 * <p>Who pulls the rows is found out where they are pulled ({@link io.sluice.spark.read.InsideTask}), from the callers
 * of that thread: the end of a task may overtake any thread but the one that runs {@code Task.run}.
 *
 * <p>Not here: which shuffles are read this way ({@code SluiceShuffleManager}).
 */
package io.sluice.spark.read;
