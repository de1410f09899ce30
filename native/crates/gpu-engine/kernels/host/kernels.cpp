// All kernels for the host, as a module of the simulated driver (native/crates/cuda-sim): one exported constant for
// each kernel, and a few for tests, which choose the order of the threads, leave a barrier out, and ask what went
// wrong.
#include "sluice_cuda_sim.h"

#include <utility>

#include "../kernels.cu"

namespace {

template <auto Kernel>
struct Exported;

template <class... Parameters, void (*Kernel)(Parameters...)>
struct Exported<Kernel> {
  static constexpr size_t bytes[] = {sizeof(Parameters)...};

  template <size_t... I>
  static void call(const void* given, std::index_sequence<I...>) {
    const void* const* parameters = (const void* const*)given;
    Kernel(read<Parameters>(parameters[I])...);
  }
  // Values of parameters are aligned to bytes only.
  template <class T>
  static T read(const void* from) {
    T value;
    memcpy((void*)&value, from, sizeof value);
    return value;
  }
  static void body(const void* given) { call(given, std::index_sequence_for<Parameters...>()); }
  static void run(const sluice_kernel_call* call) {
    if (call->block[0] > THREADS || call->shared_bytes != 0) abort();
    sim::launch(call->grid[0], call->block[0], body, call->parameters);
  }
};

void set_order(const sluice_kernel_call* call) {
  memcpy(&sim::order, call->parameters[0], sizeof sim::order);
  memcpy(&sim::random_state, call->parameters[1], sizeof sim::random_state);
  sim::random_state |= 1;
}

void set_skipped(const sluice_kernel_call* call) {
  memcpy(&sim::skipped_hash, call->parameters[0], sizeof sim::skipped_hash);
  for (size_t i = 0; i < sim::sites.size(); i++) sim::skipped[i] = sim::hash_of(sim::sites[i]) == sim::skipped_hash;
}

// Writes text to device memory, up to its first 0: the fault, a line for each place where threads wait.
void tell(const sluice_kernel_call* call) {
  u64 address, room;
  memcpy(&address, call->parameters[0], 8);
  memcpy(&room, call->parameters[1], 8);
  std::string text = sim::fault + "\n";
  for (size_t i = 0; i < sim::sites.size(); i++) text += sim::sites[i] + "\n";
  size_t bytes = text.size() + 1 < room ? text.size() + 1 : room;
  memcpy((void*)address, text.c_str(), bytes);
}

const size_t two[] = {sizeof(u64), sizeof(u64)};

}  // namespace

#define EXPORT(name)                                                                                        \
  extern "C" const sluice_kernel sluice_kernel_##name __attribute__((visibility("default"))) = {             \
      sizeof(Exported<name>::bytes) / sizeof(size_t), Exported<name>::bytes, Exported<name>::run, true}

EXPORT(read_entries);
EXPORT(place_rows);
EXPORT(count_frames);
EXPORT(write_frames);
EXPORT(gather_words);
EXPORT(predict_fields);
EXPORT(encode_vars);
EXPORT(compress_vars);
EXPORT(encode_columns);
EXPORT(lay_out_frames);
EXPORT(put_frames);
EXPORT(put_headers);
EXPORT(hash_rows);
EXPORT(decode_frames);
EXPORT(radix_count_u32);
EXPORT(radix_count_u64);
EXPORT(radix_scatter_u32);
EXPORT(radix_scatter_u64);
EXPORT(sort_split);
EXPORT(sort_join);
EXPORT(scan_tiles);
EXPORT(scan_sums);
EXPORT(scan_apply);
EXPORT(measure_columns);
EXPORT(list_rows);
EXPORT(gather_columns);
EXPORT(encode_vars_of_columns);
EXPORT(take_headers);
EXPORT(measure_values);
EXPORT(total_values);
EXPORT(write_columns);
EXPORT(write_value_bytes);
EXPORT(measure_statistics);
EXPORT(measure_pack);
EXPORT(measure_unpack);
EXPORT(measure_crc);
#define EXPORT_FOR_TESTS(name) \
  extern "C" const sluice_kernel sluice_kernel_##name __attribute__((visibility("default"))) = {2, two, name, true}
EXPORT_FOR_TESTS(set_order);
EXPORT_FOR_TESTS(set_skipped);
EXPORT_FOR_TESTS(tell);
