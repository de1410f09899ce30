/*
 * A kernel for Sluice's simulated CUDA driver, written in C or C++: compile it to a shared object (cc -shared -fPIC),
 * and load the file's bytes as a module (cuModuleLoadDataEx). For a kernel NAME the object exports
 *
 *     const struct sluice_kernel sluice_kernel_NAME = { ... };
 *
 * The function is run once per launch, whatever the grid is: a loop over blocks and threads is its own.
 */
#ifndef SLUICE_CUDA_SIM_H
#define SLUICE_CUDA_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sluice_kernel_call {
    uint32_t grid[3];  /* blocks in x, y, z */
    uint32_t block[3]; /* threads of a block in x, y, z */
    uint32_t shared_bytes;
    const void *const *parameters; /* addresses of the parameters' values */
    size_t parameter_count;
    /* Where the kernel finds a range of device memory, or null, unless it is raw: see sluice_kernel_memory. */
    void *(*resolve)(void *resolver, uint64_t address, size_t bytes, bool write);
    void *resolver;
};

struct sluice_kernel {
    size_t parameter_count;
    const size_t *parameter_bytes; /* the size of each parameter */
    void (*function)(const struct sluice_kernel_call *call);
    bool raw; /* uses device addresses as they are: all allocated memory is open while it runs */
};

static inline void *sluice_kernel_memory(
    const struct sluice_kernel_call *call, uint64_t address, size_t bytes, bool write) {
    return call->resolve(call->resolver, address, bytes, write);
}

#endif
