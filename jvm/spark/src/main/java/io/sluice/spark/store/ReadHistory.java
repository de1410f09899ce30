package io.sluice.spark.store;

/**
 * When the map outputs of one shuffle were read here, and how often that will happen again. All outputs of a shuffle
 * are read together, by the tasks of a stage; that is one pass. Time is counted in passes over any shuffle, so a pause
 * of the application changes nothing, and a little of it passes with each shuffle that is made ({@link #MAKING}).
 * Guarded by {@link CachedOutputs}.
 */
final class ReadHistory {
  /** Stages that read the shuffle at the same time are told apart as long as they are no more than this. */
  private static final int RECENT_STAGES = 8;
  /** The share of shuffles that are read a second time, where nothing is known of the shuffle but that it was read. */
  private static final double READ_AGAIN = 0.1;
  /** A shuffle that was read in turn is read no more if it was not for so many times its usual pause. */
  private static final double PAUSES = 2;

  /**
   * Of shuffles that were made and not read, between whose making nothing was read, the older one is less likely to be
   * read soon: a query may have made it and used no row of it.
   */
  static final double MAKING = 0.01;

  private final long[] recentStages = new long[RECENT_STAGES];
  private long passes;
  /** When the last output was made, or the shuffle was read last. */
  private double lastUse;
  /** Between passes, the last ones more than those before; of no meaning before the second pass. */
  private double meanPause;

  /** An output was made. */
  void made(double now) {
    if (passes == 0) {
      lastUse = now;
    }
  }

  /** Whether a task of {@code stage} is the first of its stage to read the shuffle here. */
  boolean isNewPass(long stage) {
    for (int i = 0; i < Math.min(passes, RECENT_STAGES); i++) {
      if (recentStages[i] == stage) {
        return false;
      }
    }
    return true;
  }

  /** A pass begins. */
  void read(long stage, double now) {
    recentStages[(int) (passes % RECENT_STAGES)] = stage;
    passes++;
    if (passes > 1) {
      double pause = Math.max(1, now - lastUse);
      meanPause = passes == 2 ? pause : (meanPause + pause) / 2;
    }
    lastUse = now;
  }

  /** How many passes have begun. */
  long passes() {
    return passes;
  }

  /**
   * How many passes to expect for each pass over any shuffle. What was made and not read yet is read soon; what was
   * read once, seldom again; what is read again and again, as often as before, until it is overdue.
   */
  double expectedPasses(double now) {
    double age = now - lastUse;
    if (passes < 2) {
      return (passes == 0 ? 1 : READ_AGAIN) / (1 + age);
    }
    double overdue = Math.max(1, age / (PAUSES * meanPause));
    return 1 / (meanPause * overdue * overdue);
  }
}
