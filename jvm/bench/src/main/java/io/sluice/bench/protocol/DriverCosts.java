package io.sluice.bench.protocol;

/**
 * What one run's shuffles cost the driver's process, which keeps them until this was measured.
 *
 * @param shuffles how many there were
 * @param statusBytes the statuses of their map outputs as the driver sends them to executors, without broadcasts
 * @param heapBytes by how much the heap in use has grown, after garbage collections before and after the run
 * @param cpuS seconds of CPU of the driver's process during the run, all threads
 */
public record DriverCosts(int shuffles, long statusBytes, long heapBytes, double cpuS) {}
