/**
 * Which Sluice the processes of an application have. The driver's plugin sends its build to executors with the
 * settings; an executor whose classes are others ends before it gets a task, and the driver says why.
 *
 * <pre>
 *   driver:    JarBuild ─► the plugin's settings for executors
 *   executor:  Admission compares them with its own JarBuild ─► equal: it starts
 *                                                          └──► not:   Refusal to the driver; the executor ends
 *   driver:    RefusedExecutors: a warning, a counter; ends the jobs when executors come only to be refused
 * </pre>
 */
package io.sluice.spark.versions;
