package io.sluice.doctor.check;

/**
 * One thing that was found out.
 *
 * @param text the finding, for people; one sentence or less
 * @param next exactly what to do about it; empty when there is nothing to do
 */
public record Finding(Subject subject, Verdict verdict, String text, String next) {
  public static Finding ok(Subject subject, String text) {
    return new Finding(subject, Verdict.OK, text, "");
  }

  public static Finding note(Subject subject, String text) {
    return new Finding(subject, Verdict.NOTE, text, "");
  }

  /** A finding for something that could not be found out, with the reason. */
  public static Finding unknown(Subject subject, String reason) {
    return note(subject, "unknown: " + reason);
  }

  public static Finding warning(Subject subject, String text, String next) {
    return new Finding(subject, Verdict.WARNING, text, next);
  }

  public static Finding problem(Subject subject, String text, String next) {
    return new Finding(subject, Verdict.PROBLEM, text, next);
  }
}
