/**
 * Every option, declared once in {@link io.sluice.spark.conf.SluiceSettings} and resolved once into the immutable
 * {@link io.sluice.spark.conf.Settings}. {@code docs/configuration.md} is generated from the declarations, and a test
 * holds it equal.
 *
 * <p>Invariants: an unknown {@code spark.sluice.*} key or a value out of range stops the application; nothing outside
 * this package parses a setting of Sluice.
 */
package io.sluice.spark.conf;
