/**
 * From other accelerated shuffles to Sluice: what becomes of their settings ({@link io.sluice.spark.migration.Mapping}
 * in {@link io.sluice.spark.migration.MigrationTable}), the page that lists it, and the translation of a
 * {@code spark-defaults.conf}.
 *
 * <pre>
 * bytes ─► SettingsFile ─► Translation (MigrationTable) ─► text ─► TranslateConf: standard output or a new file
 * </pre>
 *
 * <p>Invariants: what is not a setting of a predecessor is written as it was read, byte for byte; nothing is written
 * unless the whole file could be read and translated. Used by a program of its own, never by a Spark application.
 */
package io.sluice.spark.migration;
