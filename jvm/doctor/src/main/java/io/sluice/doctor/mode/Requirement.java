package io.sluice.doctor.mode;

import io.sluice.doctor.check.Subject;
import io.sluice.doctor.check.Verdict;

/**
 * The requirement of a mode for one subject.
 *
 * @param one whether one finding without a problem is enough (one port of several, one folder); else all must be
 * @param consequence the effect of a problem on the mode
 * @param fallback the part that is used instead, if the consequence is a fallback
 * @param mention findings from this verdict on are notes of the mode
 */
record Requirement(Subject subject, boolean one, State consequence, String fallback, Verdict mention) {
  /** Without it the application does not run. */
  static Requirement must(Subject subject) {
    return new Requirement(subject, false, State.NOT_POSSIBLE, "", Verdict.WARNING);
  }

  /** Of several findings one must be without a problem. */
  static Requirement mustHaveOne(Subject subject) {
    return new Requirement(subject, true, State.NOT_POSSIBLE, "", Verdict.WARNING);
  }

  /** Without it something else does the work. */
  static Requirement orElse(Subject subject, String fallback) {
    return new Requirement(subject, false, State.FALLS_BACK, fallback, Verdict.WARNING);
  }

  /** It is better with it. */
  static Requirement advised(Subject subject) {
    return new Requirement(subject, false, State.READY_WITH_NOTES, "", Verdict.WARNING);
  }

  /** The mode is for machines that have it. */
  static Requirement meantFor(Subject subject) {
    return new Requirement(subject, true, State.READY_WITH_NOTES, "", Verdict.NOTE);
  }
}
