/**
 * {@code ./sluice advise} and {@code java -jar sluice-VERSION.jar advise}: reads event logs of Spark and says what
 * Sluice would save.
 *
 * <pre>
 * log        files ─► bytes ─► lines ─► events
 * model                                   └─► Application: stages, jobs, executors, settings
 * estimate                                        └─► StageEstimate…, Timeline, Confidence ─► ApplicationEstimate
 * report                                                                                        └─► text, HTML, JSON
 * measured   predictions beside what ./sluice bench measured
 * </pre>
 *
 * Invariants: a log is read once, from its beginning to its end; what is kept of it is the sums of each stage and job,
 * never an event or a task. Text that comes out of a log has no control characters when it is in the model
 * ({@code CleanText}). Nothing is written but the files that the user names.
 *
 * <p>It starts no Spark and uses none of its classes.
 */
package io.sluice.advisor;
