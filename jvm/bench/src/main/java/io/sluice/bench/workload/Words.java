package io.sluice.bench.workload;

import java.util.stream.IntStream;

/**
 * Pseudo-English: a word is a pure function of its rank, frequent words are short, and ranks follow Zipf's
 * law with exponent 1.
 *
 * <p>Our benchmarks make their input while they run, where others read prepared files. So making it must be cheap: a
 * frequent word is looked up, and only rare ones are put together.
 */
final class Words {

  private static final int VOCABULARY_BITS = 20;
  /** Different words there are: enough that map-side combine leaves something to shuffle. */
  static final int VOCABULARY = 1 << VOCABULARY_BITS;

  /** Words that are kept: four draws of five. */
  private static final int KEPT = 1 << 16;

  private static final String CONSONANTS = "tnshrdlcmwfgypbvkj";
  private static final String VOWELS = "eaoiu";
  private static final int SYLLABLES = CONSONANTS.length() * VOWELS.length();
  private static final int LINE_VOCABULARY_BITS = 10;
  private static final int LINE_VOCABULARY = 1 << LINE_VOCABULARY_BITS;
  private static final int DRAWS_PER_LONG = Long.SIZE / LINE_VOCABULARY_BITS;
  private static final int LONGEST_LINE = 14 * 7;
  /** Ranks below this have words of one or two syllables. */
  private static final int THREE_SYLLABLES = SYLLABLES + SYLLABLES * SYLLABLES;

  private static final int STEPS = 1 << 12;
  private static final double[] POWERS = powers();
  private static final String[] WORDS = IntStream.range(0, KEPT).mapToObj(Words::word).toArray(String[]::new);
  private static final String[] LINE_WORDS =
      IntStream.range(0, LINE_VOCABULARY).mapToObj(i -> word(THREE_SYLLABLES + 97 * i)).toArray(String[]::new);

  private Words() {}

  /** A word drawn with probability about 1 / (rank × ln {@link #VOCABULARY}). */
  static String drawn(long seed) {
    int rank = rank(Scatter.uniform(seed));
    return rank < KEPT ? WORDS[rank] : word(rank);
  }

  /** {@link #VOCABULARY} to the power of 1 - {@code uniform}, less 1: by a table for the fraction of the exponent. */
  static int rank(double uniform) {
    double exponent = VOCABULARY_BITS * (1 - uniform);
    int whole = Math.min((int) exponent, VOCABULARY_BITS - 1);
    double step = (exponent - whole) * STEPS;
    int below = Math.min((int) step, STEPS - 1);
    double power = POWERS[below] + (POWERS[below + 1] - POWERS[below]) * (step - below);
    return (int) Math.min(VOCABULARY - 1, power * (1 << whole) - 1);
  }

  /** 2 to the powers of 0, 1/{@link #STEPS}, … 1. */
  private static double[] powers() {
    // StrictMath, because Math's results may differ in the last bit between interpreter and JIT compiler.
    return IntStream.rangeClosed(0, STEPS).mapToDouble(i -> StrictMath.pow(2, (double) i / STEPS)).toArray();
  }

  /** The word of {@code rank}, from 0: its digits in base 90, a syllable each; distinct for distinct ranks. */
  static String word(int rank) {
    StringBuilder word = new StringBuilder();
    int rest = rank;
    do {
      int syllable = rest % SYLLABLES;
      word.append(CONSONANTS.charAt(syllable / VOWELS.length())).append(VOWELS.charAt(syllable % VOWELS.length()));
      rest = rest / SYLLABLES - 1;
    } while (rest >= 0);
    return word.toString();
  }

  /**
   * A line of 5 to 14 words of six letters, drawn evenly from 1,024, as Hadoop's RandomTextWriter makes HiBench's
   * input.
   */
  static String line(long seed) {
    int words = 5 + (int) Scatter.below(seed, 10);
    StringBuilder line = new StringBuilder(LONGEST_LINE);
    long bits = 0;
    for (int i = 0; i < words; i++) {
      if (i % DRAWS_PER_LONG == 0) {
        bits = Scatter.mix(Scatter.mix(seed) + i);
      }
      if (i > 0) {
        line.append(' ');
      }
      line.append(LINE_WORDS[(int) bits & (LINE_VOCABULARY - 1)]);
      bits >>>= LINE_VOCABULARY_BITS;
    }
    return line.toString();
  }
}
