//! Memory of GPUs: what UCX is told of it, and what is refused before UCX is asked.

use super::fake;
use super::*;
use crate::library::OLDEST;

const DEVICE: MemoryKind = MemoryKind::Device(0);
/// Bits of the types that a UCX can copy, as in ucs/memory/memory_type.h.
const HOST_ONLY: u64 = 1 << 0;
const WITH_CUDA: u64 = HOST_ONLY | 1 << 1;

fn wire(version: (u32, u32), types: u64, device_memory: bool) -> UcxWire {
    fake::set_memory_types(types);
    let options = UcxOptions { device_memory, ..UcxOptions::default() };
    UcxWire::with(Arc::new(Ucx::of(fake::functions(), version)), options).expect("a wire")
}

/// Whether memory of this kind is registered, and can be read to; what was refused is the same for both.
fn try_kind(wire: &mut UcxWire, kind: MemoryKind) -> Result<(), String> {
    // SAFETY: the fake reads nothing.
    let registered = unsafe { wire.register(0x1000, 8, kind) }.map(drop).map_err(|e| e.0);
    let endpoint = wire.open(b"somebody").expect("opened").endpoint;
    let get = Get { token: 1, key: b"key", remote: 8, local: std::ptr::null_mut(), bytes: 1, kind };
    // SAFETY: the fake writes nothing.
    unsafe { wire.get(endpoint, get) };
    let mut events = Vec::new();
    wire.progress(&mut events);
    let got = match &events[..] {
        [] => Ok(()),
        [Event::Got { token: 1, result: Err(why) }] => Err(why.0.clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!(registered, got);
    got
}

#[test]
fn ucx_is_told_the_type_of_all_memory() {
    let mut wire = wire((1, 22), WITH_CUDA, true);
    assert!(wire.has_device_memory());
    for (kind, expected) in [(MemoryKind::Host, 0), (MemoryKind::Pinned, 0), (DEVICE, 1), (MemoryKind::Device(3), 1)] {
        fake::take_types();
        try_kind(&mut wire, kind).expect("done");
        assert_eq!(fake::take_types(), [Some(expected); 2], "{kind:?}: registered and read to");
    }
}

#[test]
fn device_memory_is_refused_where_ucx_cannot_read_it() {
    for (version, types, wanted, word) in [
        ((1, 22), WITH_CUDA, false, "a wire made for it"),
        ((1, 15), WITH_CUDA, true, "1.16 or later"),
        ((1, 22), HOST_ONLY, true, "libuct_cuda"),
    ] {
        let mut wire = wire(version, types, wanted);
        assert!(!wire.has_device_memory());
        fake::take_types();
        let why = try_kind(&mut wire, DEVICE).expect_err("refused");
        assert!(why.contains(word), "{why}");
        assert_eq!(fake::take_types(), [], "UCX was not asked");
        try_kind(&mut wire, MemoryKind::Pinned).expect("of the host");
    }
}

#[test]
fn ucx_uses_no_cuda_unless_it_is_wanted() {
    if std::env::var_os("UCX_TLS").is_some() {
        return eprintln!("skipped: ucx_uses_no_cuda_unless_it_is_wanted: UCX_TLS is set");
    }
    for (version, wanted, excluded) in
        [((1, 22), false, true), ((1, 22), true, false), ((1, 15), true, true), (OLDEST, false, true)]
    {
        fake::take_settings();
        drop(wire(version, WITH_CUDA, wanted));
        let settings = fake::take_settings();
        assert_eq!(settings.contains(&["TLS".into(), "^cuda".into()]), excluded, "{version:?}: {settings:?}");
    }
}

/// A real UCX, where it has none, answers "unsupported" to each get with `UCX_PROTO_ENABLE=n`.
#[test]
fn the_older_protocols_are_not_asked_for_where_there_are_none() {
    for (version, expected) in [(OLDEST, true), ((1, 21), true), ((1, 22), false), ((2, 0), false)] {
        assert_eq!(Ucx::of(fake::functions(), version).has_older_protocols(), expected, "{version:?}");
    }
}

/// This machine has no GPU, or its UCX no transport for it, or both work: whichever it is, messages and reads of host
/// memory are as ever, and device memory that no device has allocated is never read.
#[test]
fn a_real_ucx_made_for_device_memory_reads_host_memory() {
    let Some(ucx) = common::ucx() else { return };
    let make = || UcxWire::with(Arc::clone(&ucx), UcxOptions { device_memory: true, ..UcxOptions::default() });
    let (mut owner, mut reader) = (make().expect("a wire"), make().expect("a wire"));
    if !owner.has_device_memory() {
        // SAFETY: it is refused.
        let why = unsafe { owner.register(0x1000, 8, DEVICE) }.expect_err("refused");
        assert!(why.0.contains("device memory"), "{why}");
    }
    let content: Vec<u8> = (0..100_000u32).map(|i| (i * 7 / 3) as u8).collect();
    let (address, mut target) = (content.as_ptr().expose_provenance(), vec![0u8; content.len()]);
    // SAFETY: `content` outlives the owner's wire.
    let (_, key) = unsafe { owner.register(address, content.len(), MemoryKind::Host) }.expect("registered");
    let endpoint = reader.open(owner.address()).expect("opened").endpoint;
    let (local, bytes, remote) = (target.as_mut_ptr(), target.len(), address as u64);
    // SAFETY: `target` is looked at when the get has ended; a get that does not end fails the test, and leaks.
    unsafe { reader.get(endpoint, Get { token: 1, key: &key, remote, local, bytes, kind: MemoryKind::Host }) };
    let mut target = std::mem::ManuallyDrop::new(target);
    let (end, mut events) = (std::time::Instant::now() + Duration::from_secs(20), Vec::new());
    while events.is_empty() {
        assert!(std::time::Instant::now() < end, "the get has not ended");
        reader.progress(&mut events);
        owner.progress(&mut Vec::new());
    }
    assert_eq!(events, [Event::Got { token: 1, result: Ok(()) }]);
    assert!(**target == content);
    drop((reader, owner));
    // SAFETY: nothing uses it any more, and it is dropped once.
    unsafe { std::mem::ManuallyDrop::drop(&mut target) };
}
