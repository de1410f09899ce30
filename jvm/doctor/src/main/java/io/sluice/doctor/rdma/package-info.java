/**
 * What the kernel shows of RDMA devices and GPUs, without verbs or CUDA: {@code /sys/class/infiniband},
 * {@code /proc/driver/nvidia}.
 */
package io.sluice.doctor.rdma;
