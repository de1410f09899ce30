//! Proofs that the other side knows the application's secret, without sending it (HMAC-SHA-256, RFC 2104), and the keys
//! that both sides derive from the secret for the messages that follow.

use ring::hmac;

use crate::message::{InstanceId, NONCE_BYTES, Nonce, PROOF_BYTES, Proof};

/// The application's secret; empty when the application has none, and then known to all.
#[derive(Clone)]
pub(crate) struct Secret(hmac::Key);

/// A proof that is wrong, or that nobody has asked for.
#[derive(Debug)]
pub(crate) struct Unproven;

/// A side of a session. It is part of a proof, so that a side's own proof cannot be sent back to it as the other
/// side's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Owner,
    Reader,
}

/// What a reader's first message says. Its proof is checked before a connection is opened for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Greeting<'a> {
    pub(crate) owner: InstanceId,
    pub(crate) reader: InstanceId,
    pub(crate) version: u16,
    pub(crate) number: u32,
    pub(crate) nonce: Nonce,
    pub(crate) reader_address: &'a [u8],
}

/// What an owner says that refuses a greeting: there is no session yet whose keys could prove it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refusal<'a> {
    pub(crate) owner: InstanceId,
    pub(crate) reader: InstanceId,
    pub(crate) reader_nonce: Nonce,
    pub(crate) number: u32,
    pub(crate) refused: u32,
    pub(crate) why: &'a str,
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

/// The keys of the tags that messages have after a handshake: one for each direction.
#[derive(Debug, Clone)]
pub(crate) struct SessionKeys {
    pub(crate) of_owner: hmac::Key,
    pub(crate) of_reader: hmac::Key,
}

impl Secret {
    pub(crate) fn new(secret: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    pub(crate) fn prove_greeting(&self, greeting: &Greeting<'_>) -> Proof {
        self.mac(&greeting.bytes())
    }

    /// Whether the proof is right; takes the same time for every wrong one.
    pub(crate) fn verify_greeting(&self, greeting: &Greeting<'_>, proof: &Proof) -> bool {
        hmac::verify(&self.0, &greeting.bytes(), proof).is_ok()
    }

    pub(crate) fn prove_refusal(&self, refusal: &Refusal<'_>) -> Proof {
        self.mac(&refusal.bytes())
    }

    /// Whether the proof is right; takes the same time for every wrong one.
    pub(crate) fn verify_refusal(&self, refusal: &Refusal<'_>, proof: &Proof) -> bool {
        hmac::verify(&self.0, &refusal.bytes(), proof).is_ok()
    }

    pub(crate) fn prove(&self, role: Role, about: &Handshake<'_>) -> Proof {
        self.mac(&about.bytes(proof_label(role)))
    }

    /// Whether the proof is right; takes the same time for every wrong one.
    pub(crate) fn verify(&self, role: Role, about: &Handshake<'_>, proof: &Proof) -> bool {
        hmac::verify(&self.0, &about.bytes(proof_label(role)), proof).is_ok()
    }

    pub(crate) fn session_keys(&self, about: &Handshake<'_>) -> SessionKeys {
        let key = |label| hmac::Key::new(hmac::HMAC_SHA256, &self.mac(&about.bytes(label)));
        SessionKeys { of_owner: key(b"sluice o's tags\0"), of_reader: key(b"sluice r's tags\0") }
    }

    fn mac(&self, bytes: &[u8]) -> Proof {
        let mut mac = [0; PROOF_BYTES];
        mac.copy_from_slice(hmac::sign(&self.0, bytes).as_ref());
        mac
    }
}

/// The first bytes of everything that is proven: no two kinds of proofs or keys have the same.
type Label = [u8; 16];

fn proof_label(role: Role) -> &'static Label {
    match role {
        Role::Owner => b"sluice owner  1\0",
        Role::Reader => b"sluice reader 1\0",
    }
}

// All parts but the last have fixed lengths, so no two greetings or handshakes give the same bytes.
impl Greeting<'_> {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"sluice hello  1\0".to_vec();
        bytes.extend(self.owner.0.to_le_bytes());
        bytes.extend(self.reader.0.to_le_bytes());
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(self.nonce);
        bytes.extend(self.reader_address);
        bytes
    }
}

impl Refusal<'_> {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"sluice refusal1\0".to_vec();
        bytes.extend(self.owner.0.to_le_bytes());
        bytes.extend(self.reader.0.to_le_bytes());
        bytes.extend(self.reader_nonce);
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(self.refused.to_le_bytes());
        bytes.extend(self.why.as_bytes());
        bytes
    }
}

impl Handshake<'_> {
    fn bytes(&self, label: &Label) -> Vec<u8> {
        let mut bytes = label.to_vec();
        bytes.extend(self.owner.0.to_le_bytes());
        bytes.extend(self.reader.0.to_le_bytes());
        bytes.extend(self.owner_nonce);
        bytes.extend(self.reader_nonce);
        bytes.extend(self.reader_address);
        bytes
    }
}

/// Unpredictable bytes from the system.
pub(crate) fn random_nonce() -> Nonce {
    let mut nonce = [0; NONCE_BYTES];
    getrandom::fill(&mut nonce).expect("the system has random numbers");
    nonce
}

/// The nonce of a reader's greeting: its number, then random bytes.
pub(crate) fn greeting_nonce(greeting: u64) -> Nonce {
    let mut nonce = random_nonce();
    nonce[..8].copy_from_slice(&greeting.to_le_bytes());
    nonce
}

/// The number of the greeting that has this nonce.
pub(crate) fn greeting_of(nonce: Nonce) -> u64 {
    let (greeting, _) = nonce.split_at(8);
    u64::from_le_bytes(greeting.try_into().expect("8 bytes"))
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

    const ABOUT: Handshake<'_> = Handshake {
        owner: InstanceId(1),
        reader: InstanceId(2),
        reader_address: b"here",
        owner_nonce: [3; NONCE_BYTES],
        reader_nonce: [4; NONCE_BYTES],
    };

    #[test]
    fn a_proof_is_right_for_one_role_one_secret_and_one_handshake() {
        let secret = Secret::new(b"s");
        let proof = secret.prove(Role::Reader, &ABOUT);
        assert!(secret.verify(Role::Reader, &ABOUT, &proof));
        assert!(!secret.verify(Role::Owner, &ABOUT, &proof));
        assert!(!Secret::new(b"").verify(Role::Reader, &ABOUT, &proof));
        assert!(!secret.verify(Role::Reader, &Handshake { owner_nonce: [5; NONCE_BYTES], ..ABOUT }, &proof));
        assert!(!secret.verify(Role::Reader, &Handshake { reader_address: b"there", ..ABOUT }, &proof));
        assert!(!secret.verify(Role::Reader, &Handshake { owner: InstanceId(2), ..ABOUT }, &proof));
    }

    #[test]
    fn a_greetings_proof_is_right_for_one_secret_and_one_greeting() {
        let secret = Secret::new(b"s");
        let greeting = Greeting {
            owner: InstanceId(1),
            reader: InstanceId(2),
            version: 6,
            number: 3,
            nonce: [4; NONCE_BYTES],
            reader_address: b"here",
        };
        let proof = secret.prove_greeting(&greeting);
        assert!(secret.verify_greeting(&greeting, &proof));
        assert!(!Secret::new(b"t").verify_greeting(&greeting, &proof));
        for other in [
            Greeting { owner: InstanceId(2), ..greeting },
            Greeting { reader: InstanceId(1), ..greeting },
            Greeting { version: 7, ..greeting },
            Greeting { number: 4, ..greeting },
            Greeting { nonce: [5; NONCE_BYTES], ..greeting },
            Greeting { reader_address: b"there", ..greeting },
        ] {
            assert!(!secret.verify_greeting(&other, &proof), "{other:?}");
        }
    }

    #[test]
    fn a_refusals_proof_is_right_for_one_secret_and_one_refusal() {
        let secret = Secret::new(b"s");
        let reader_nonce = greeting_nonce(7);
        assert_eq!(greeting_of(reader_nonce), 7);
        let (owner, reader) = (InstanceId(1), InstanceId(2));
        let refusal = Refusal { owner, reader, reader_nonce, number: 3, refused: 4, why: "no" };
        let proof = secret.prove_refusal(&refusal);
        assert!(secret.verify_refusal(&refusal, &proof));
        assert!(!Secret::new(b"t").verify_refusal(&refusal, &proof));
        for other in [
            Refusal { owner: InstanceId(2), ..refusal },
            Refusal { reader: InstanceId(1), ..refusal },
            Refusal { reader_nonce: greeting_nonce(7), ..refusal },
            Refusal { number: 4, ..refusal },
            Refusal { refused: 3, ..refusal },
            Refusal { why: "now", ..refusal },
        ] {
            assert!(!secret.verify_refusal(&other, &proof), "{other:?}");
        }
    }

    #[test]
    fn keys_differ_by_direction_secret_and_handshake() {
        let keys = |secret: &[u8], about| Secret::new(secret).session_keys(about);
        let sign = |key: &hmac::Key| hmac::sign(key, b"message").as_ref().to_vec();
        let other = Handshake { reader_nonce: [5; NONCE_BYTES], ..ABOUT };
        let signed: Vec<_> = [keys(b"s", &ABOUT), keys(b"t", &ABOUT), keys(b"s", &other)]
            .iter()
            .flat_map(|keys| [sign(&keys.of_owner), sign(&keys.of_reader)])
            .collect();
        let distinct: std::collections::HashSet<_> = signed.iter().collect();
        assert_eq!(distinct.len(), signed.len());
        assert_eq!(sign(&keys(b"s", &ABOUT).of_owner), signed[0], "both sides derive the same");
    }
}
