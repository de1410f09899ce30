package io.sluice.doctor.check;

import java.util.Locale;

/** How good a finding is, best first. */
public enum Verdict {
  OK,
  /** For information only. Also used if a check could not find something out. */
  NOTE,
  /** Works, but slower or less than it could. */
  WARNING,
  /** Something that a mode needs does not work. */
  PROBLEM;

  /** As it is printed. */
  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }
}
