//! Adding variables to the environment of a process that has other threads.
//!
//! `setenv` must not run while another thread may call `getenv`: glibc (before 2.41) may free the array that the other
//! reads. A JVM has many threads, and its native libraries call `getenv` whenever they like. So nothing that is there
//! is changed or freed here: a new array is made of the same strings and one more, and published with a single store to
//! `environ`, which POSIX lets a program do. A reader goes through the old array or through the new one; both stay for
//! the life of the process.
//!
//! What is left to avoid is a `setenv` of another thread at the same time. A JVM has no means to call it: Java's
//! environment is read-only.

use std::ffi::{CString, c_char};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// Adds a variable, unless there is one of this name.
pub(crate) fn add_if_absent(name: &str, value: &str) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if std::env::var_os(name).is_some() {
        return;
    }
    let Ok(entry) = CString::new(format!("{name}={value}")) else { return };
    // SAFETY: `environ` is an aligned pointer that lives as long as the process. Through this atomic it is loaded and
    // stored whole; other code loads it as a plain word, which is as whole on the platforms that Sluice runs on.
    let shared = unsafe { AtomicPtr::from_ptr(&raw mut environ) };
    let old = shared.load(Ordering::Acquire);
    let mut new: Vec<*mut c_char> = entries(old);
    new.extend([entry.into_raw(), null_mut()]);
    // Never freed: a thread that has loaded `environ` may read it at any later time.
    shared.store(new.leak().as_mut_ptr(), Ordering::Release);
}

/// Those of UCX's variables that say what it may use.
const SELECTION: [&str; 3] = ["UCX_TLS", "UCX_NET_DEVICES", "UCX_MODULE_DIR"];

/// What the environment lets UCX use, for an error: ", with UCX_TLS=tcp in the environment", or nothing.
pub(crate) fn selection() -> String {
    let value = |name: &&str| std::env::var_os(name).map(|value| format!("{name}={}", value.to_string_lossy()));
    let set: Vec<String> = SELECTION.iter().filter_map(value).collect();
    if set.is_empty() { String::new() } else { format!(", with {} in the environment", set.join(" ")) }
}

/// The entries of an array that ends with null; an environment that was cleared may be null itself.
fn entries(array: *mut *mut c_char) -> Vec<*mut c_char> {
    let mut found = Vec::new();
    if array.is_null() {
        return found;
    }
    loop {
        // SAFETY: all entries before this one were not null, so the array goes on to here; nothing is freed meanwhile
        // (see above).
        let entry = unsafe { *array.add(found.len()) };
        if entry.is_null() {
            return found;
        }
        found.push(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> *mut *mut c_char {
        // SAFETY: `environ` is an aligned pointer that lives as long as the process, and it is only loaded here.
        unsafe { AtomicPtr::from_ptr(&raw mut environ) }.load(Ordering::Acquire)
    }

    /// `setenv` fails this from the second variable on: it lengthens its own array where it lies, or frees it.
    #[test]
    fn a_reader_of_the_environment_finds_its_array_as_it_was() {
        for round in 0..50 {
            let (array, before) = (now(), entries(now()));
            add_if_absent(&format!("SLUICE_TEST_{round}"), "yes");
            assert_ne!(now(), array, "a new array");
            assert_eq!(entries(array), before, "the old one is as it was, its end too");
            assert_eq!(std::env::var(format!("SLUICE_TEST_{round}")).as_deref(), Ok("yes"));
        }
        let said = std::process::Command::new("env").output().expect("coreutils").stdout;
        assert!(String::from_utf8_lossy(&said).lines().any(|line| line == "SLUICE_TEST_49=yes"), "children have it");
    }

    #[test]
    fn variables_set_by_the_user_are_kept() {
        let (name, value) = std::env::vars().next().expect("something is set");
        add_if_absent(&name, "another");
        assert_eq!(std::env::var(&name).as_deref(), Ok(value.as_str()));
    }
}
