//! Where the files are that tests read.

use std::path::PathBuf;

/// Names the checkout where tests do not run where they were built.
const VARIABLE: &str = "SLUICE_CHECKOUT";

/// The root of the checkout whose files tests read: the one that this crate was built in, unless `SLUICE_CHECKOUT`
/// names another.
pub fn checkout() -> PathBuf {
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");
    std::env::var_os(VARIABLE).map_or_else(|| built.into(), PathBuf::from)
}
