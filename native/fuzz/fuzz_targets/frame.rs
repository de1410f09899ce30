//! Raw bytes as a whole frame.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluice_codec::Decoder;

fuzz_target!(|data: &[u8]| {
    let (mut target, mut lengths) = (vec![0; 1 << 20], vec![0; 1 << 16]);
    let _ = Decoder::new().decode(data, &mut target, &mut lengths);
});
