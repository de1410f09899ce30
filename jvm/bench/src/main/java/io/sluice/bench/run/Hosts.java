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
 * @param slow one host whose link has another rate; null without one
 * @param away one host that is cut off in the middle of every counted run; null without one
 */
public record Hosts(int workers, int cores, String rate, String delay, String loss, SlowHost slow, AwayHost away) {

  private static final Pattern FORM = Pattern.compile("([1-9]\\d?)(?:,([1-9]\\d{0,2}))?");
  private static final Pattern WORKER = Pattern.compile("w([1-9]\\d?)");
  private static final Pattern OF_A_HOST = Pattern.compile("([^=]+)=(.+)");
  private static final Pattern SECONDS = Pattern.compile("([1-9]\\d{0,2})s");

  /** A host, as {@code w3}, whose link carries {@code rate} each way. */
  public record SlowHost(String host, String rate) {}

  /** A host, as {@code w3}, that is cut off for so many seconds. */
  public record AwayHost(String host, int seconds) {}

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
    return new Hosts(Integer.parseInt(matcher.group(1)), cores, rate, delay, loss, null, null);
  }

  /**
   * The same with one slow host.
   *
   * @param text {@code w3=10mbit}
   * @throws IllegalArgumentException if it is not of this form, or there is no such worker
   */
  public Hosts withSlow(String text) {
    Matcher matcher = ofAHost("--slow-host", text, "w3=10mbit");
    return new Hosts(workers, cores, rate, delay, loss, new SlowHost(matcher.group(1), matcher.group(2)), away);
  }

  /**
   * The same with one host that is away for a while.
   *
   * @param text {@code w3=30s}, whole seconds below 1,000
   * @throws IllegalArgumentException if it is not of this form, or there is no such worker
   */
  public Hosts withAway(String text) {
    Matcher matcher = ofAHost("--away", text, "w3=30s");
    Matcher seconds = SECONDS.matcher(matcher.group(2));
    if (!seconds.matches()) {
      throw new IllegalArgumentException("--away takes a host and whole seconds, as w3=30s, not '" + text + "'");
    }
    return new Hosts(workers, cores, rate, delay, loss, slow,
        new AwayHost(matcher.group(1), Integer.parseInt(seconds.group(1))));
  }

  private Matcher ofAHost(String option, String text, String example) {
    Matcher matcher = OF_A_HOST.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException(option + " takes a host and a value, as " + example + ", not '" + text + "'");
    }
    Matcher worker = WORKER.matcher(matcher.group(1));
    if (!worker.matches() || Integer.parseInt(worker.group(1)) > workers) {
      throw new IllegalArgumentException(option + " " + text + ": the cluster's workers are w1 to w" + workers);
    }
    return matcher;
  }

  /** In words, for reports. */
  public String describe() {
    return workers + (workers == 1 ? " host" : " hosts") + " on one machine, " + cores
        + (cores == 1 ? " core" : " cores") + " each, " + links();
  }

  /** The links in words, with what happens to single hosts. */
  public String links() {
    return (rate == null ? "links without limit" : rate + " links")
        + (delay == null ? "" : ", delay " + delay) + (loss == null ? "" : ", loss " + loss)
        + (slow == null ? "" : ", " + slow.host() + "'s " + slow.rate())
        + (away == null ? "" : ", " + away.host() + " away for " + away.seconds() + " s");
  }
}
