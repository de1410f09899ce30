package io.sluice.bench.run;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An amount of data as users write it: {@code 500m}, {@code 1g}, {@code 2.5gb}, or plain bytes. Units are
 * decimal, as TeraSort's are: {@code 1g} is 10 million records of 100 bytes.
 *
 * @param bytes at least 1
 */
public record DataSize(long bytes) {

  private static final Pattern FORM = Pattern.compile("(\\d+(?:\\.\\d+)?)([kmgt]?)b?");
  private static final String UNITS = "kmgt";

  /**
   * Reads {@code text}.
   *
   * @throws IllegalArgumentException if it is not of that form, or less than a byte
   */
  public static DataSize parse(String text) {
    Matcher matcher = FORM.matcher(text.strip().toLowerCase(Locale.ROOT));
    if (!matcher.matches()) {
      throw new IllegalArgumentException("'" + text + "' is not a size; write for example 500m, 1g or 2.5g");
    }
    int thousands = matcher.group(2).isEmpty() ? 0 : UNITS.indexOf(matcher.group(2)) + 1;
    double bytes = Double.parseDouble(matcher.group(1)) * Math.pow(1000, thousands);
    if (bytes < 1 || bytes > Long.MAX_VALUE) {
      throw new IllegalArgumentException("'" + text + "' is not a size between 1 byte and 9 exabytes");
    }
    return new DataSize(Math.round(bytes));
  }
}
