package io.sluice.advisor.log;

/**
 * How much of a log could be read.
 *
 * @param events lines that were events
 * @param damagedLines lines that were no JSON, or no event
 * @param longLines lines with more bytes or longer text than is read
 * @param fault why the log ends early (a damaged file, a line that is cut); empty if it does not
 */
public record LogHealth(long events, long damagedLines, long longLines, String fault) {}
