//! Proofs that the other side knows the application's secret, without sending it (HMAC-SHA-256, RFC 2104).

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::message::{InstanceId, NONCE_BYTES, Nonce, Proof};

/// The application's secret; empty when the application has none, and then known to all.
#[derive(Clone)]
pub(crate) struct Secret(Vec<u8>);

/// Whose proof it is. It is part of the proof, so that a side's own proof cannot be sent back to it as the other
/// side's.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Role {
    Owner,
    Reader,
}

/// What a proof is about: one connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handshake<'a> {
    pub(crate) owner: InstanceId,
    pub(crate) reader: InstanceId,
    /// Where the owner's answers go; proven too, so that they cannot be turned elsewhere.
    pub(crate) reader_address: &'a [u8],
    pub(crate) owner_nonce: Nonce,
    pub(crate) reader_nonce: Nonce,
}

impl Secret {
    pub(crate) fn new(secret: &[u8]) -> Self {
        Self(secret.to_vec())
    }

    pub(crate) fn prove(&self, role: Role, about: &Handshake<'_>) -> Proof {
        self.mac(role, about).finalize().into_bytes().into()
    }

    /// Whether the proof is right; takes the same time for every wrong one.
    pub(crate) fn verify(&self, role: Role, about: &Handshake<'_>, proof: &Proof) -> bool {
        self.mac(role, about).verify_slice(proof).is_ok()
    }

    fn mac(&self, role: Role, about: &Handshake<'_>) -> Hmac<Sha256> {
        let mut mac = match Hmac::<Sha256>::new_from_slice(&self.0) {
            Ok(mac) => mac,
            Err(_) => unreachable!("HMAC takes keys of any length"),
        };
        // All parts but the last have fixed lengths, so no two handshakes give the same bytes.
        mac.update(match role {
            Role::Owner => b"sluice owner  1\0",
            Role::Reader => b"sluice reader 1\0",
        });
        mac.update(&about.owner.0.to_le_bytes());
        mac.update(&about.reader.0.to_le_bytes());
        mac.update(&about.owner_nonce);
        mac.update(&about.reader_nonce);
        mac.update(about.reader_address);
        mac
    }
}

/// Unpredictable bytes from the system.
pub(crate) fn random_nonce() -> Nonce {
    let mut nonce = [0; NONCE_BYTES];
    getrandom::fill(&mut nonce).expect("the system has random numbers");
    nonce
}

/// A random number for this process's life.
pub(crate) fn random_instance() -> InstanceId {
    let nonce = random_nonce();
    let (head, _) = nonce.split_at(8);
    InstanceId(u64::from_le_bytes(head.try_into().expect("8 bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_right_for_one_role_one_secret_and_one_handshake() {
        let about = Handshake {
            owner: InstanceId(1),
            reader: InstanceId(2),
            reader_address: b"here",
            owner_nonce: [3; NONCE_BYTES],
            reader_nonce: [4; NONCE_BYTES],
        };
        let secret = Secret::new(b"s");
        let proof = secret.prove(Role::Reader, &about);
        assert!(secret.verify(Role::Reader, &about, &proof));
        assert!(!secret.verify(Role::Owner, &about, &proof));
        assert!(!Secret::new(b"").verify(Role::Reader, &about, &proof));
        assert!(!secret.verify(Role::Reader, &Handshake { owner_nonce: [5; NONCE_BYTES], ..about }, &proof));
        assert!(!secret.verify(Role::Reader, &Handshake { reader_address: b"there", ..about }, &proof));
        assert!(!secret.verify(Role::Reader, &Handshake { owner: InstanceId(2), ..about }, &proof));
    }
}
