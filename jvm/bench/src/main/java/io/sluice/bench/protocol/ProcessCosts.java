package io.sluice.bench.protocol;

/**
 * What all processes of an engine took in one run: driver, executors, and servers if it has some. Those on other
 * machines cannot be seen and are not in it.
 *
 * @param cpuS seconds of CPU, user and system, all threads
 * @param serversCpuS the part of it that servers took
 * @param peakRssBytes the most memory that they had at one time, read five times a second; pages that they share count
 *     in each
 * @param writtenBytes bytes that they handed to file systems on disks
 * @param loopbackBytes bytes that crossed this machine's loopback interface meanwhile, other programs' too; null where
 *     the system does not tell
 */
public record ProcessCosts(double cpuS, double serversCpuS, long peakRssBytes, long writtenBytes,
    Long loopbackBytes) {}
