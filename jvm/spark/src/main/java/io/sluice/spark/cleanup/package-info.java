/**
 * The end of shuffles: which map outputs an executor has written, and the removal of shuffles of SQL when their
 * execution ends ({@code spark.sluice.sql.cleanup}, {@code docs/decisions/0026}).
 *
 * <pre>
 *   driver:    end of an execution ─► EndedExecutions ─► PlanShuffles: the shuffles of its plan
 *                                          └─► OutputRemovals (the last ones, numbered)
 *   executor:  RemovalPoll asks for new ones ─► WrittenOutputs: their map outputs ─► files and memory are freed
 *              TrackedWriter: a map task that ends after the removal of its shuffle removes its own output
 * </pre>
 *
 * <p>In local mode {@code EndedExecutions} removes the outputs itself.
 *
 * <p>By the same way {@code UnmovedShuffles} tells executors which shuffles they need not move when they are
 * decommissioned (Spark 4's {@code spark.sql.shuffleDependency.skipMigration.enabled}).
 */
package io.sluice.spark.cleanup;
