package io.sluice.doctor.mode;

import java.util.Locale;

/** What an application gets that sets a mode on this machine. */
public enum State {
  READY,
  READY_WITH_NOTES,
  /** The application runs, and something else does the work. */
  FALLS_BACK,
  NOT_POSSIBLE;

  /** Whether the mode works without falling back. */
  public boolean usable() {
    return this == READY || this == READY_WITH_NOTES;
  }

  /** For programs that read the JSON: never changes. */
  public String id() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
