/** The two forms of a report: text and JSON. The jar has no library for either, so neither has this package. */
package io.sluice.doctor.report;
