/**
 * Spark on this machine: version, Sluice's jar, and the settings of {@code spark-defaults.conf}. No class of Spark is
 * used.
 */
package io.sluice.doctor.spark;
