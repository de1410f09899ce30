//! Which calls a map output takes, and when.
//!
//! ```text
//!           ┌── error ──┐
//!           ▼           │
//!          Open ──▶ Committing ──▶ Committed
//!           ▲ │                        ▲
//!           │ └──▶ InParts ── end ─────┘
//!           └ abort ──┘
//!
//!   any ── a call panics ──▶ Failed          any ── close ──▶ Closed
//! ```
//!
//! Encodes and spills run beside each other while the phase is `Open`. A commit takes every run, so it is refused while
//! an encode or a spill is under way (its run would be missing from the file), and everything is refused while it runs.
//! A commit in parts begins like that too; then it goes on beside encodes, which `parts` keeps apart by partition.

use crate::error::{EngineError, ErrorKind};

/// What a map output's writer is doing.
#[derive(Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Committing,
    /// Between the begin of a commit in parts and its end.
    InParts,
    Committed,
    /// A call panicked, with this name.
    Failed(&'static str),
    Closed,
}

/// A call that changes the map output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Encode,
    Spill,
    Commit,
    /// The begin of a commit in parts.
    BeginParts,
    /// A part, and the end of a commit in parts that fails.
    Part,
    /// The end of a commit in parts that has written all.
    EndParts,
}

impl Call {
    fn name(self) -> &'static str {
        match self {
            Self::Encode => "encode",
            Self::Spill => "spill",
            Self::Commit => "commit",
            Self::BeginParts => "begin to commit in parts",
            Self::Part => "commit a part",
            Self::EndParts => "end a commit in parts",
        }
    }
}

/// The phase of one map output, and the calls under way in it. Guarded by the writer's lock.
#[derive(Debug)]
pub(crate) struct Phases {
    phase: Phase,
    encodes: usize,
    spills: usize,
}

impl Phases {
    pub(crate) fn new() -> Self {
        Self { phase: Phase::Open, encodes: 0, spills: 0 }
    }

    /// Begins a call; [`Self::end`] must follow.
    ///
    /// # Errors
    /// `WrongPhase` or `Closed`, in words that say what is in the way.
    pub(crate) fn begin(&mut self, call: Call) -> Result<(), EngineError> {
        if matches!(call, Call::Part | Call::EndParts) {
            return self.check_in_parts(call);
        }
        if self.phase != Phase::InParts || !matches!(call, Call::Encode) {
            self.check_open(call.name())?;
        }
        match call {
            Call::Encode => self.encodes += 1,
            Call::Spill => self.spills += 1,
            Call::Commit | Call::BeginParts if self.encodes + self.spills > 0 => {
                return Err(wrong_phase(format!(
                    "cannot commit the map output while {} encodes and {} spills of it are under way on other threads; \
                     wait until they return",
                    self.encodes, self.spills
                )));
            }
            Call::Commit => self.phase = Phase::Committing,
            Call::BeginParts => self.phase = Phase::InParts,
            Call::Part | Call::EndParts => {}
        }
        Ok(())
    }

    /// # Errors
    /// `WrongPhase` or `Closed`; an end while an encode is under way, too.
    fn check_in_parts(&self, call: Call) -> Result<(), EngineError> {
        self.check_alive()?;
        if self.phase != Phase::InParts {
            return Err(wrong_phase(format!("cannot {}: no commit in parts has begun", call.name())));
        }
        if matches!(call, Call::EndParts) && self.encodes > 0 {
            return Err(wrong_phase(format!("cannot {}: {} encodes are under way", call.name(), self.encodes)));
        }
        Ok(())
    }

    /// Ends a call that [`Self::begin`] has admitted.
    pub(crate) fn end(&mut self, call: Call, how: End) {
        match call {
            Call::Encode => self.encodes -= 1,
            Call::Spill => self.spills -= 1,
            Call::Commit | Call::BeginParts | Call::Part | Call::EndParts => {}
        }
        if self.phase == Phase::Closed {
            return;
        }
        if how == End::Panicked {
            self.phase = Phase::Failed(call.name());
        } else if self.phase == Phase::InParts {
            match (call, how) {
                (Call::EndParts, End::Done) => self.phase = Phase::Committed,
                (Call::EndParts, _) | (Call::BeginParts, End::Refused) => self.phase = Phase::Open,
                _ => {}
            }
        } else if self.phase == Phase::Committing {
            self.phase = if how == End::Done { Phase::Committed } else { Phase::Open };
        }
    }

    /// Ends a commit in parts without its file.
    ///
    /// # Errors
    /// `WrongPhase` or `Closed`.
    pub(crate) fn abort_parts(&mut self) -> Result<(), EngineError> {
        self.check_in_parts(Call::Part)?;
        self.phase = Phase::Open;
        Ok(())
    }

    pub(crate) fn close(&mut self) {
        self.phase = Phase::Closed;
    }

    /// Whether runs may still be kept: neither closed nor failed.
    ///
    /// # Errors
    /// `Closed`, or `WrongPhase` after a panic.
    pub(crate) fn check_alive(&self) -> Result<(), EngineError> {
        match self.phase {
            Phase::Closed => Err(EngineError::new(ErrorKind::Closed, "the map output is closed")),
            Phase::Failed(call) => Err(wrong_phase(format!(
                "the map output has failed: an earlier call ({call}) panicked and may have lost rows; close it and run \
                 the task again"
            ))),
            Phase::Open | Phase::Committing | Phase::InParts | Phase::Committed => Ok(()),
        }
    }

    fn check_open(&self, call: &str) -> Result<(), EngineError> {
        self.check_alive()?;
        match self.phase {
            Phase::Committing => {
                Err(wrong_phase(format!("cannot {call}: the map output is being committed by another thread")))
            }
            Phase::InParts => Err(wrong_phase(format!("cannot {call}: the map output is being committed in parts"))),
            Phase::Committed => Err(wrong_phase(format!("cannot {call}: the map output is already committed"))),
            _ => Ok(()),
        }
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    Refused,
    Panicked,
}

fn wrong_phase(message: String) -> EngineError {
    EngineError::new(ErrorKind::WrongPhase, message)
}
