//! The states of one device copy.
//!
//! ```text
//!            Begin            Filled            Pin               Unpin
//!   Absent ────────► Copying ────────► Resident ───► Pinned(n) ─────────► Resident
//!      ▲               │ │ Drop           │ Drop        │ Drop
//!      │  Failed       │ ▼                │             ▼
//!      ├───────────────┘ Dropping(1)      │         Dropping(n) ── the last user leaves ──► Absent
//!      └──────────────────────────────────┘
//!   Copying, Resident, Pinned, Dropping ── Lose ──► Lost(users)
//! ```

/// Where a copy is. The number is that of its users: readers that have pinned it, or the thread that fills it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyState {
    /// There is none, and it takes no memory.
    Absent,
    /// It is being filled, and nobody can read it.
    Copying,
    /// It can be read, and may be dropped at any time.
    Resident,
    /// So many readers use it; it is not evicted.
    Pinned(u32),
    /// It cannot be found any more, and is gone when so many users have left.
    Dropping(u32),
    /// The device was lost; so many users have not noticed yet.
    Lost(u32),
}

/// What happens to a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyEvent {
    /// Memory is reserved, and a thread begins to fill it.
    Begin,
    /// The thread has filled it.
    Filled,
    /// The thread could not fill it.
    Failed,
    /// A reader begins.
    Pin,
    /// A reader ends.
    Unpin,
    /// It is evicted, dropped under pressure, or its shuffle ends.
    Drop,
    /// The device is lost.
    Lose,
}

/// The event cannot happen in this state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAllowed {
    /// The state, which stays.
    pub state: CopyState,
    /// The event.
    pub event: CopyEvent,
}

impl CopyState {
    /// The state after an event.
    ///
    /// # Errors
    /// The event cannot happen now.
    pub fn after(self, event: CopyEvent) -> Result<Self, NotAllowed> {
        use CopyEvent::{Begin, Drop, Failed, Filled, Lose, Pin, Unpin};
        use CopyState::{Absent, Copying, Dropping, Lost, Pinned, Resident};
        let next = match (self, event) {
            (Absent, Begin) => Copying,
            (Copying, Filled) => Resident,
            (Copying, Failed) | (Resident, Drop) => Absent,
            (Resident, Pin) => Pinned(1),
            (Pinned(readers), Pin) if readers < u32::MAX => Pinned(readers + 1),
            (Pinned(1), Unpin) => Resident,
            (Pinned(readers), Unpin) if readers > 1 => Pinned(readers - 1),
            (Copying, Drop) => Dropping(1),
            (Pinned(readers), Drop) => Dropping(readers),
            (Dropping(1), Filled | Failed | Unpin) => Absent,
            (Dropping(users), Unpin) if users > 1 => Dropping(users - 1),
            (Copying, Lose) => Lost(1),
            (Resident, Lose) => Lost(0),
            (Pinned(users) | Dropping(users), Lose) => Lost(users),
            (Lost(1), Filled | Failed | Unpin) => Lost(0),
            (Lost(users), Unpin) if users > 1 => Lost(users - 1),
            (state, event) => return Err(NotAllowed { state, event }),
        };
        Ok(next)
    }

    /// Whether nobody uses its memory and nobody can find it: the table forgets it.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Absent | Self::Lost(0))
    }

    /// Whether a reader may pin it.
    pub fn is_readable(self) -> bool {
        matches!(self, Self::Resident | Self::Pinned(_))
    }
}

#[cfg(test)]
mod tests {
    use super::CopyEvent::{Begin, Drop, Failed, Filled, Lose, Pin, Unpin};
    use super::CopyState::{Absent, Copying, Dropping, Lost, Pinned, Resident};
    use super::*;

    const EVENTS: [CopyEvent; 7] = [Begin, Filled, Failed, Pin, Unpin, Drop, Lose];

    /// What each state does with each of [`EVENTS`], in their order; none: it cannot happen.
    const TRANSITIONS: [(CopyState, [Option<CopyState>; 7]); 12] = [
        (Absent, [Some(Copying), None, None, None, None, None, None]),
        (Copying, [None, Some(Resident), Some(Absent), None, None, Some(Dropping(1)), Some(Lost(1))]),
        (Resident, [None, None, None, Some(Pinned(1)), None, Some(Absent), Some(Lost(0))]),
        (Pinned(1), [None, None, None, Some(Pinned(2)), Some(Resident), Some(Dropping(1)), Some(Lost(1))]),
        (Pinned(3), [None, None, None, Some(Pinned(4)), Some(Pinned(2)), Some(Dropping(3)), Some(Lost(3))]),
        (
            Pinned(u32::MAX),
            [None, None, None, None, Some(Pinned(u32::MAX - 1)), Some(Dropping(u32::MAX)), Some(Lost(u32::MAX))],
        ),
        (Dropping(1), [None, Some(Absent), Some(Absent), None, Some(Absent), None, Some(Lost(1))]),
        (Dropping(3), [None, None, None, None, Some(Dropping(2)), None, Some(Lost(3))]),
        (Lost(0), [None; 7]),
        (Lost(1), [None, Some(Lost(0)), Some(Lost(0)), None, Some(Lost(0)), None, None]),
        (Lost(2), [None, None, None, None, Some(Lost(1)), None, None]),
        (Lost(3), [None, None, None, None, Some(Lost(2)), None, None]),
    ];

    #[test]
    fn each_state_answers_each_event() {
        for (state, answers) in TRANSITIONS {
            for (event, answer) in EVENTS.into_iter().zip(answers) {
                assert_eq!(state.after(event).ok(), answer, "{event:?} in {state:?}");
                if let Err(why) = state.after(event) {
                    assert_eq!(why, NotAllowed { state, event });
                }
            }
        }
    }

    #[test]
    fn every_state_comes_to_an_end() {
        for (start, _) in TRANSITIONS {
            let few = match start {
                Pinned(u32::MAX) => Pinned(4),
                other => other,
            };
            let mut state = few;
            for _ in 0..8 {
                let step = [Drop, Failed, Unpin].into_iter().find_map(|event| state.after(event).ok());
                state = step.unwrap_or(state);
            }
            assert!(state.is_over(), "{few:?} ends as {state:?}");
            assert!(!state.is_readable());
        }
    }
}
