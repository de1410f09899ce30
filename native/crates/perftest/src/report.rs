//! Figures for people and for programs.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::figures::{BareFigure, Figure};
use crate::sizes::Bytes;

/// One line of the table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) transport: String,
    pub(crate) figure: Figure,
    /// The bare library's figures, if it was measured.
    pub(crate) bare: Option<BareFigure>,
}

impl Row {
    pub(crate) fn new(transport: &str, figure: Figure, bare: Option<BareFigure>) -> Self {
        Self { transport: transport.into(), figure, bare }
    }

    fn ratio(&self) -> Option<f64> {
        self.bare.map(|bare| self.figure.mb_per_s / bare.mb_per_s)
    }
}

pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<12} {:>8} {:>7} {:>10} {:>11} {:>9} {:>13} {:>6} {:>11}\n",
        "transport", "size", "window", "MB/s", "latency us", "owner CPU", "library MB/s", "ratio", "library us"
    );
    let number = |value: Option<f64>, digits: usize| value.map_or("-".to_string(), |value| format!("{value:.digits$}"));
    for row in rows {
        let Figure { size, window, mb_per_s, latency_us, owner_cpu } = row.figure;
        let (transport, size, ratio) = (&row.transport, Bytes(size).to_string(), number(row.ratio(), 2));
        let bare_mb_per_s = number(row.bare.map(|bare| bare.mb_per_s), 0);
        let bare_latency_us = number(row.bare.map(|bare| bare.latency_us), 1);
        let _ = writeln!(
            text,
            "{transport:<12} {size:>8} {window:>7} {mb_per_s:>10.0} {latency_us:>11.1} {owner_cpu:>9.3} \
             {bare_mb_per_s:>13} {ratio:>6} {bare_latency_us:>11}"
        );
    }
    text
}

pub(crate) fn json(rows: &[Row]) -> String {
    let rounded = |value: f64| (value * 1000.0).round() / 1000.0;
    let row = |row: &Row| {
        json!({
            "transport": row.transport,
            "size": row.figure.size,
            "window": row.figure.window,
            "mb_per_s": rounded(row.figure.mb_per_s),
            "latency_us": rounded(row.figure.latency_us),
            "owner_cpu": rounded(row.figure.owner_cpu),
            "library_mb_per_s": row.bare.map(|bare| rounded(bare.mb_per_s)),
            "library_latency_us": row.bare.map(|bare| rounded(bare.latency_us)),
            "ratio_vs_library": row.ratio().map(rounded),
        })
    };
    let rows: Vec<Value> = rows.iter().map(row).collect();
    format!("{:#}\n", Value::from(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_shown_with_and_without_a_comparison() {
        let figure = Figure { size: 65_536, window: 32, mb_per_s: 900.0, latency_us: 12.5, owner_cpu: 0.01 };
        let bare = BareFigure { mb_per_s: 1000.0, latency_us: 7.25 };
        let rows = [Row::new("cma", figure, Some(bare)), Row::new("tcp", figure, None)];
        let json: Value = serde_json::from_str(&json(&rows)).expect("JSON");
        assert_eq!(json[0]["ratio_vs_library"], 0.9);
        assert_eq!(json[0]["size"], 65_536);
        assert_eq!(json[0]["library_latency_us"], 7.25);
        assert!(json[1]["ratio_vs_library"].is_null() && json[1]["library_latency_us"].is_null());
        let table = table(&rows);
        assert!(
            table.contains(
                "cma               64k      32        900        12.5     0.010          1000   0.90         7.2"
            ),
            "{table}"
        );
        assert_eq!(table.lines().count(), 3);
    }
}
