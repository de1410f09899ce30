/**
 * The GPU of an executor, which encodes batches of map tasks and sorts references to rows ({@code spark.sluice.gpu},
 * {@code docs/gpu.md}).
 *
 * <pre>
 *   ExecutorGpu ── thread sluice-gpu-start: GpuDevice.Opener ─► GpuDevice (the native core's)
 *       ├── writers of map output are told of it, and batches are encoded by it or not: the native core decides
 *       ├── GpuPairSorter, of a task: pairs are sorted by it, or else by the task
 *       ├── threads sluice-gpu-N: the only ones that call the driver for batches and pairs, and wait for it
 *       ├── AssignedGpu: which one, as Spark has told the first task or the plugin
 *       └── what it did and declined ─► counters; a lost device ─► one warning
 * </pre>
 */
package io.sluice.spark.gpu;
