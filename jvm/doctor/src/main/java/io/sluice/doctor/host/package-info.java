/**
 * The checks' view of a machine: {@link io.sluice.doctor.host.Host}, its one real implementation, and readers of
 * {@code /proc} formats. Nothing here judges.
 */
package io.sluice.doctor.host;
