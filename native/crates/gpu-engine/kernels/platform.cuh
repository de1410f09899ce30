// What the kernels need of their compiler: types, and the words of CUDA that the host build (host/shim.h) replaces.
#pragma once
#ifdef __CUDACC__
typedef unsigned long long u64;
typedef long long i64;
typedef unsigned int u32;
typedef int i32;
typedef unsigned char u8;
#define DEVICE __device__ __forceinline__
// A function of many uses: code once, not at each of them.
#define ONCE __device__ __noinline__
#define KERNEL_OF(threads) extern "C" __global__ void __launch_bounds__(threads)
#define KERNEL KERNEL_OF(THREADS)
// Shared memory of a block.
#define SHARED(type, name) __shared__ type name
#define SHARED_ARRAY(type, name, count) __shared__ type name[count]
#define BARRIER() __syncthreads()
// The same where fibers cannot show that it is missing, because they wait elsewhere before anybody would notice: the
// test that leaves barriers out does not leave these out.
#define QUIET_BARRIER() __syncthreads()
#define QUIET_WARP_BARRIER() __syncwarp()
// Orders memory among a warp's threads; ballots and shuffles do not.
#define WARP_BARRIER() __syncwarp()
#define BALLOT(bit) __ballot_sync(0xffffffffu, bit)
#define MATCH_ANY(value) __match_any_sync(0xffffffffu, value)
#define SHUFFLE(value, from) __shfl_sync(0xffffffffu, value, from)
#define SHUFFLE_XOR(value, distance) __shfl_xor_sync(0xffffffffu, value, distance)
#define SHUFFLE_UP(value, distance) __shfl_up_sync(0xffffffffu, value, distance)
#else
#include "host/shim.h"
#endif

// Threads of every block, unless a kernel says otherwise.
#define THREADS 256
#define WARPS (THREADS / 32)

DEVICE u32 lane() { return threadIdx.x % 32; }
DEVICE u32 warp() { return threadIdx.x / 32; }
