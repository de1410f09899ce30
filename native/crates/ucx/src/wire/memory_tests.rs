//! Memory that peers may read, on a fake UCX: which access to it UCX is asked for, and when that ends.

use super::fake::{self, MemoryCall};
use super::*;

/// Local and remote reads, as in ucp.h: `UCP_MEM_MAP_PROT_LOCAL_READ` and `…_REMOTE_READ`.
const READS: u32 = 1 << 0 | 1 << 8;
/// The bit of CUDA's memory in ucs/memory/memory_type.h, beside the host's.
const WITH_CUDA: u64 = 1 << 0 | 1 << 1;

/// The owner's memory is never written by a peer: an RDMA device refuses what the registration does not allow.
#[test]
fn peers_may_read_what_is_registered_and_not_write_to_it() {
    fake::set_memory_types(WITH_CUDA);
    let options = UcxOptions { device_memory: true, ..UcxOptions::default() };
    let mut wire = UcxWire::with(Arc::new(Ucx::of(fake::functions(), (1, 22))), options).expect("a wire");
    for kind in [MemoryKind::Host, MemoryKind::Pinned, MemoryKind::Device(0)] {
        fake::take_memory_calls();
        // SAFETY: the fake reads nothing.
        let (region, _) = unsafe { wire.register(0x1000, 64, kind) }.expect("registered");
        let calls = fake::take_memory_calls();
        let [MemoryCall::Register { address: 0x1000, bytes: 64, prot, mem: Some(mem) }] = calls[..] else {
            panic!("{kind:?}: {calls:?}")
        };
        assert_eq!(prot, READS, "{kind:?}");
        wire.unregister(region);
        assert_eq!(fake::take_memory_calls(), [MemoryCall::Unregister { mem }], "{kind:?}");
    }
}
