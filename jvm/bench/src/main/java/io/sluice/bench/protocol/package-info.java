/**
 * The messages between the command line and its Spark drivers: one JSON object per line.
 *
 * <pre>
 *   command line                         driver (one per engine)
 *        | -- Request.start(settings) ------> |   creates the Spark application
 *        | <----------------------- ready --- |
 *        | -- Request.run(workload) --------> |   or verify(workload), table(table)
 *        | <----------- progress (0..n times) |
 *        | <-- run | digest | ready | error - |   exactly one
 *        | -- (end of input) ---------------> |   stops the application and exits
 * </pre>
 */
package io.sluice.bench.protocol;
