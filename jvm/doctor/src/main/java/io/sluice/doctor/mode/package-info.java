/**
 * Derives from the findings whether each mode of Sluice works here: a table of requirements
 * ({@link io.sluice.doctor.mode.Mode}) and one judge.
 */
package io.sluice.doctor.mode;
