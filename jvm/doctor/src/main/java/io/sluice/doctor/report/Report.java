package io.sluice.doctor.report;

import io.sluice.doctor.check.Finding;
import io.sluice.doctor.mode.Mode;
import io.sluice.doctor.mode.ModeVerdict;
import java.util.List;

/**
 * All that was found on one machine.
 *
 * @param version Sluice's
 * @param machine its name
 * @param findings in the order of their subjects
 * @param modes a verdict for every mode
 * @param asked the modes that the exit code is about
 */
public record Report(String version, String machine, List<Finding> findings, List<ModeVerdict> modes,
    List<Mode> asked) {
  /** Whether every requested mode works without falling back. */
  public boolean usable() {
    return modes.stream().filter(verdict -> asked.contains(verdict.mode()))
        .allMatch(verdict -> verdict.state().usable());
  }
}
