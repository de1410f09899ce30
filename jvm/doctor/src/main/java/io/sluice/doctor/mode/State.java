package io.sluice.doctor.mode;

import java.util.Locale;

/** What happens to an application that asks for a mode on this machine. */
public enum State {
  READY,
  READY_WITH_NOTES,
  /** The application runs, and something else does the work. */
  FALLS_BACK,
  NOT_POSSIBLE;

  /** Whether the mode does what it is for. */
  public boolean usable() {
    return this == READY || this == READY_WITH_NOTES;
  }

  /** For programs that read the JSON: never changes. */
  public String id() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
