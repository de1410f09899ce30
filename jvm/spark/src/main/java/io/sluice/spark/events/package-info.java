/**
 * What Sluice tells about an application: events on the driver's listener bus, which Spark writes to the event log. The
 * driver posts them; what they say of tasks came with the tasks' results ({@code TaskFigures}). See
 * {@code docs/decisions/0023}.
 */
package io.sluice.spark.events;
