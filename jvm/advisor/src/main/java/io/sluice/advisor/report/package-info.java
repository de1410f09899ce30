/** The forms of the advice: text for a terminal, an HTML page, JSON. */
package io.sluice.advisor.report;
