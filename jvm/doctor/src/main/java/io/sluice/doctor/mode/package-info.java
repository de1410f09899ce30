/**
 * From findings to what each mode of Sluice can do here: a table of requirements ({@link io.sluice.doctor.mode.Mode})
 * and one judge.
 */
package io.sluice.doctor.mode;
