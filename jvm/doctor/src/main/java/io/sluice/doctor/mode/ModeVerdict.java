package io.sluice.doctor.mode;

import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.Verdict;
import java.util.ArrayList;
import java.util.List;

/**
 * The verdict on one mode on this machine.
 *
 * @param fallback the part that is used instead, if the mode falls back
 * @param reasons why it is not simply ready, most serious first
 */
public record ModeVerdict(Mode mode, State state, String fallback, List<Reason> reasons) {
  /**
   * @param next exactly what to do about it; empty when nothing can or need be done
   */
  public record Reason(String text, String next) {}

  /** Judges by the findings of all checks. */
  public static ModeVerdict of(Mode mode, List<Finding> findings) {
    State state = State.READY;
    String fallback = "";
    List<Reason> grave = new ArrayList<>();
    List<Reason> notes = new ArrayList<>();
    for (Requirement requirement : mode.requirements()) {
      List<Finding> about = findings.stream().filter(finding -> finding.subject() == requirement.subject()).toList();
      boolean lacking = lacking(requirement, about);
      List<Finding> mentioned = mentioned(requirement, about);
      State here = lacking ? requirement.consequence() : mentioned.isEmpty() ? State.READY : State.READY_WITH_NOTES;
      if (here == State.FALLS_BACK && state.compareTo(State.FALLS_BACK) < 0) {
        fallback = requirement.fallback();
      }
      state = here.compareTo(state) > 0 ? here : state;
      mentioned.forEach(finding -> (lacking ? grave : notes).add(
          new Reason(finding.subject().title() + ": " + finding.text(), finding.next())));
    }
    grave.addAll(notes);
    return new ModeVerdict(mode, state, state == State.FALLS_BACK ? fallback : "", grave);
  }

  private static boolean lacking(Requirement requirement, List<Finding> about) {
    boolean any = about.stream().anyMatch(finding -> finding.verdict() == Verdict.PROBLEM);
    return any && (!requirement.one() || about.stream().allMatch(finding -> finding.verdict() == Verdict.PROBLEM));
  }

  /** The findings to report for a requirement that one of several subjects meets: none if one of them is in order. */
  private static List<Finding> mentioned(Requirement requirement, List<Finding> about) {
    if (requirement.one() && requirement.consequence().usable()
        && about.stream().anyMatch(finding -> finding.verdict() == Verdict.OK)) {
      return List.of();
    }
    return about.stream().filter(finding -> finding.verdict().compareTo(requirement.mention()) >= 0).toList();
  }

  /** Such as {@code ready}, or {@code will fall back to Spark's own shuffle}. */
  public String words() {
    return switch (state) {
      case READY -> "ready";
      case READY_WITH_NOTES -> "ready with notes";
      case FALLS_BACK -> "will fall back to " + fallback;
      case NOT_POSSIBLE -> "not possible";
    };
  }
}
