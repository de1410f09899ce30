package io.sluice.spark.events;

/** Texts of events, kept short so that an event has at most a kilobyte. */
final class Texts {
  private Texts() {}

  /** The first {@code most} characters; an ellipsis takes the place of the rest. */
  static String atMost(int most, String text) {
    return text == null || text.length() <= most ? text : text.substring(0, most - 1) + "…";
  }
}
