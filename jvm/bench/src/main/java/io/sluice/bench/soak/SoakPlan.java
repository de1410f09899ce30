package io.sluice.bench.soak;

import java.util.List;
import java.util.Map;

/**
 * What a soak is to do.
 *
 * @param mode which programs with which faults
 * @param rooms whether applications are started in a {@link Room}
 * @param faults those to choose from, names of {@link Fault}; null for all that can be done
 * @param seed determines programs, faults and settings
 * @param profile settings of all applications; null for those that the seed determines, others for each
 * @param patienceS seconds after which a program counts as hung
 */
public record SoakPlan(Mode mode, boolean rooms, List<String> faults, long seed, Map<String, String> profile,
    long patienceS) {

  /** Which programs with which faults. */
  public enum Mode {
    /** Random programs with random faults, in new applications now and then. */
    RANDOM,
    /** The same in applications that live as long as the soak, with faults that end no process. */
    LASTING,
    /** Every fault until it has done harm once, all with the same program. */
    EACH
  }
}
