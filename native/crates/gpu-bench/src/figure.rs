//! A figure: what was measured, what it is compared with, and what it should be; for people and for programs.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::machine::Machine;

/// What a figure should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Target {
    /// At least so many times what it is compared with.
    Times(f64),
    AtLeast(f64),
    AtMost(f64),
    /// It is what others are compared with.
    None,
}

#[derive(Debug, Clone)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    /// Not there where times mean nothing.
    pub(crate) value: Option<f64>,
    /// What it is compared with, in words and in the same unit.
    pub(crate) beside: Option<(&'static str, Option<f64>)>,
    pub(crate) target: Target,
}

impl Figure {
    /// Of a simulated machine, whose times mean nothing.
    pub(crate) fn without_times(&mut self) {
        self.value = None;
        self.beside = self.beside.map(|beside| (beside.0, None));
    }

    fn ratio(&self) -> Option<f64> {
        Some(self.value? / self.beside?.1?)
    }

    fn is_met(&self) -> Option<bool> {
        match self.target {
            Target::Times(least) => Some(self.ratio()? >= least),
            Target::AtLeast(least) => Some(self.value? >= least),
            Target::AtMost(most) => Some(self.value? <= most),
            Target::None => None,
        }
    }

    fn target(&self) -> String {
        match self.target {
            Target::Times(least) => format!("≥ {least} ×"),
            Target::AtLeast(least) => format!("≥ {least}"),
            Target::AtMost(most) => format!("≤ {most}"),
            Target::None => String::new(),
        }
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "unit": self.unit,
            "value": self.value,
            "beside": self.beside.map(|beside| beside.0),
            "beside_value": self.beside.and_then(|beside| beside.1),
            "ratio": self.ratio(),
            "target": self.target(),
            "met": self.is_met(),
        })
    }
}

fn digits(value: Option<f64>) -> String {
    value.map_or_else(|| "—".into(), |value| if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") })
}

/// For people, in Markdown.
pub(crate) fn table(machine: &Machine, figures: &[Figure]) -> String {
    let mut text = String::new();
    if !machine.is_real() {
        text += "Simulated: counts mean something, times do not, and are left out.\n\n";
    }
    text += "| figure | | beside | ratio | target | met |\n| --- | --- | --- | --- | --- | --- |\n";
    for figure in figures {
        let beside = figure.beside.map_or_else(String::new, |(what, value)| format!("{what}: {}", digits(value)));
        let met = figure.is_met().map_or("", |met| if met { "yes" } else { "no" });
        let (value, ratio) =
            (digits(figure.value), figure.ratio().map_or_else(String::new, |ratio| digits(Some(ratio))));
        let (name, unit, target) = (figure.name, figure.unit, figure.target());
        let _ = writeln!(text, "| {name} | {value} {unit} | {beside} | {ratio} | {target} | {met} |");
    }
    text
}

/// For programs.
pub(crate) fn json(machine: &Machine, figures: &[Figure]) -> Result<String, String> {
    let all = json!({
        "simulated": !machine.is_real(),
        "device": machine.context.device().describe(),
        "driver": machine.context.device().driver().describe(),
        "figures": figures.iter().map(Figure::json).collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&all).map(|text| text + "\n").map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_met_or_not() {
        let figure =
            |target| Figure { name: "a", unit: "GB/s", value: Some(19.0), beside: Some(("b", Some(20.0))), target };
        for (target, met) in [
            (Target::Times(0.95), Some(true)),
            (Target::Times(0.96), Some(false)),
            (Target::AtLeast(19.0), Some(true)),
            (Target::AtLeast(19.5), Some(false)),
            (Target::AtMost(19.0), Some(true)),
            (Target::AtMost(18.0), Some(false)),
            (Target::None, None),
        ] {
            assert_eq!(figure(target).is_met(), met, "{target:?}");
        }
        let unknown = Figure { value: None, ..figure(Target::AtMost(1.0)) };
        assert_eq!((unknown.is_met(), unknown.ratio()), (None, None));
    }
}
