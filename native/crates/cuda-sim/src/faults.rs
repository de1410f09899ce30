//! What goes wrong, at which call.

use crate::status::{self, Status};
use std::collections::BTreeMap;

/// What a faulty call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It answers with a status and does nothing.
    Fail(Status),
    /// Likewise, and so do all later calls in a context.
    Sticky(Status),
    /// The work that it puts into a stream never ends.
    Hang,
    /// It does not return until [`crate::Simulator::release`].
    Block,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    function: String,
    /// The call, counted from when the fault was added; 1 is the next.
    nth: u64,
    /// Whether all later calls have it too.
    always: bool,
    effect: Effect,
}

impl Fault {
    /// `fail=NAME@N:STATUS`, `sticky=NAME@N:STATUS`, `lose=NAME@N`, `hang=NAME@N`, `block=NAME@N`; `N+` means the nth
    /// and all later calls.
    pub(crate) fn parse(effect: &str, value: &str) -> Option<Self> {
        let (function, rest) = value.split_once('@')?;
        let (nth, given) = match rest.split_once(':') {
            Some((nth, given)) => (nth, Some(given.parse::<Status>().ok()?)),
            None => (rest, None),
        };
        let effect = match (effect, given) {
            ("fail", Some(status)) => Effect::Fail(status),
            ("sticky", Some(status)) => Effect::Sticky(status),
            ("lose", None) => Effect::Sticky(status::UNKNOWN),
            ("hang", None) => Effect::Hang,
            ("block", None) => Effect::Block,
            _ => return None,
        };
        let always = nth.ends_with('+');
        let nth = nth.trim_end_matches('+').parse().ok().filter(|nth| *nth > 0)?;
        Some(Self { function: function.into(), nth, always, effect })
    }
}

/// The faults that are still to come, and how often each function was called.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    planned: Vec<Fault>,
    calls: BTreeMap<&'static str, u64>,
}

impl Faults {
    pub(crate) fn add(&mut self, fault: Fault) {
        self.planned.push(fault);
    }

    pub(crate) fn calls(&self, function: &str) -> u64 {
        self.calls.get(function).copied().unwrap_or(0)
    }

    /// Counts a call; what goes wrong with it.
    pub(crate) fn call(&mut self, function: &'static str) -> Option<Effect> {
        *self.calls.entry(function).or_default() += 1;
        let mut effect = None;
        self.planned.retain_mut(|fault| {
            if fault.function != function {
                return true;
            }
            fault.nth = fault.nth.saturating_sub(1);
            if fault.nth > 0 || effect.is_some() {
                return true;
            }
            effect = Some(fault.effect);
            fault.always
        });
        effect
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_call_fails_once_or_from_then_on() {
        let mut faults = Faults::default();
        faults.add(Fault::parse("fail", "a@2:2").expect("right"));
        faults.add(Fault::parse("hang", "b@2+").expect("right"));
        assert_eq!([(); 3].map(|()| faults.call("a")), [None, Some(Effect::Fail(2)), None]);
        assert_eq!([(); 3].map(|()| faults.call("b")), [None, Some(Effect::Hang), Some(Effect::Hang)]);
        assert_eq!((faults.calls("a"), faults.calls("b"), faults.calls("c")), (3, 3, 0));
    }
}
