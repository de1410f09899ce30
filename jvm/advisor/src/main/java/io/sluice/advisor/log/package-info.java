/**
 * Event logs as bytes: which files make a log, the codecs of Spark, lines, and the events in them. A log that is cut,
 * damaged or has lines too long is read as far as it goes, and {@code LogHealth} says what is missing.
 */
package io.sluice.advisor.log;
