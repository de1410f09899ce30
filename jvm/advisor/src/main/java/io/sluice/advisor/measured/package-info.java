/** Predictions beside measured ratios: how far off the advisor is, workload by workload. */
package io.sluice.advisor.measured;
