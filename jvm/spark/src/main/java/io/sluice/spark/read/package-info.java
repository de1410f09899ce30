/**
 * Spark's {@code ShuffleReader}, in two forms: {@link io.sluice.spark.read.SluiceShuffleReader} reads shuffles of
 * Sluice's frames through the packages {@code fetch}, {@code decode} and {@code order}; {@link
 * io.sluice.spark.read.SparkFormatReader} reads shuffles that Spark's own writers wrote, where their blocks travel
 * one-sidedly.
 *
 * <p>When a thread asks for rows, its call stack tells whether it is the thread that runs {@code Task.run} ({@link
 * io.sluice.spark.read.InsideTask}): while any other thread reads rows, the task may end.
 *
 * <p>Not here: which shuffles are read this way ({@code SluiceShuffleManager}).
 */
package io.sluice.spark.read;
