package io.sluice.bench.run;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The hosts of a {@link Cluster} and the links between them. Rates, delays and losses are in the words of
 * {@code ./sluice cluster}, which refuses wrong ones; null where there is none.
 *
 * @param workers how many, each with one executor of every engine
 * @param cores of an executor
 * @param rate of every link, each way: {@code 1gbit}
 * @param delay from a host to any other: {@code 0.2ms}
 * @param loss of the packets that a host sends: {@code 1%}
 */
public record Hosts(int workers, int cores, String rate, String delay, String loss) {

  private static final Pattern FORM = Pattern.compile("([1-9]\\d?)(?:,([1-9]\\d{0,2}))?");

  /**
   * Reads the number of workers, with an executor's cores behind a comma if they are not 1.
   *
   * @throws IllegalArgumentException for anything else
   */
  public static Hosts parse(String text, String rate, String delay, String loss) {
    Matcher matcher = FORM.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException("--cluster takes N or N,CORES with up to 99 workers, not '" + text + "'");
    }
    int cores = matcher.group(2) == null ? 1 : Integer.parseInt(matcher.group(2));
    return new Hosts(Integer.parseInt(matcher.group(1)), cores, rate, delay, loss);
  }

  /** In words, for reports. */
  public String describe() {
    return workers + (workers == 1 ? " host" : " hosts") + " on one machine, " + cores
        + (cores == 1 ? " core" : " cores") + " each, " + (rate == null ? "links without limit" : rate + " links")
        + (delay == null ? "" : ", delay " + delay) + (loss == null ? "" : ", loss " + loss);
  }
}
