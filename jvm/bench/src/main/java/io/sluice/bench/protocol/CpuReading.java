package io.sluice.bench.protocol;

/**
 * How much CPU a program's processes had used at one moment.
 *
 * @param atMs milliseconds since 1970
 * @param cpuS seconds, of all threads of its driver and executors, since the first reading
 */
public record CpuReading(long atMs, double cpuS) {}
