/**
 * RDMA devices and GPUs as the kernel shows them, without verbs or CUDA: {@code /sys/class/infiniband},
 * {@code /proc/driver/nvidia}.
 */
package io.sluice.doctor.rdma;
