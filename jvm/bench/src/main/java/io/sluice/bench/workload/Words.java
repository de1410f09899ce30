package io.sluice.bench.workload;

/**
 * Pseudo-English: a word is a pure function of its rank, frequent words are short, and ranks follow Zipf's
 * law with exponent 1.
 */
final class Words {

  /** Different words there are: enough that map-side combine leaves something to shuffle. */
  static final int VOCABULARY = 1 << 20;

  private static final String CONSONANTS = "tnshrdlcmwfgypbvkj";
  private static final String VOWELS = "eaoiu";
  private static final int SYLLABLES = CONSONANTS.length() * VOWELS.length();

  private Words() {}

  /** A word drawn with probability about 1 / (rank × ln {@link #VOCABULARY}). */
  static String drawn(long seed) {
    // StrictMath, because Math's results may differ in the last bit between interpreter and JIT compiler.
    return word((int) StrictMath.pow(VOCABULARY, 1 - Scatter.uniform(seed)) - 1);
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

  /** A line of 5 to 14 words, about 55 bytes. */
  static String line(long seed) {
    int words = 5 + (int) Scatter.below(seed, 10);
    StringBuilder line = new StringBuilder();
    for (int i = 0; i < words; i++) {
      line.append(i == 0 ? "" : " ").append(drawn(Scatter.mix(seed) + i));
    }
    return line.toString();
  }
}
