package io.sluice.advisor.model;

/**
 * A job.
 *
 * @param startedMs when it was submitted
 * @param endedMs 0 if the log does not say
 * @param queryStartedMs when the query began that it is part of; when it was submitted, if it is part of none
 * @param group the job group that the application has set; empty without one
 */
public record Job(int id, long startedMs, long endedMs, long queryStartedMs, String group) {}
