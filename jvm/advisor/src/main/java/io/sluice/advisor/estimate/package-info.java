/**
 * What Sluice would save in an application: a linear model of CPU time with constants from the project's own
 * measurements ({@code Costs}), the wall-clock time that follows ({@code Timeline}), and how sure that is.
 */
package io.sluice.advisor.estimate;
