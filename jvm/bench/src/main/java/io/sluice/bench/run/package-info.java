/**
 * The command line's side of an experiment: which engines there are, the Spark settings of each, their driver
 * processes, and the order of runs. Nothing here loads a Spark class.
 */
package io.sluice.bench.run;
