/**
 * What a shuffle takes on clusters of any size: a model of its costs. {@code CostsOfResults} takes these from measured
 * results, and {@code ScaleFigures} writes the predictions down, both in the package of reports.
 *
 * <pre>
 *   EngineCosts         CPU and bytes of a row, a block, a task
 *   Shuffle, HostKind   how much is moved, and between what
 *   ScaleModel          seconds by Resource of the map stage, the map statuses and the reduce stage: a Prediction
 *   Fit                 a line through measured costs
 * </pre>
 */
package io.sluice.bench.scale;
