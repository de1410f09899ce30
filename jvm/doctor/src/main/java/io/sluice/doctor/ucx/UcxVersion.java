package io.sluice.doctor.ucx;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A version of UCX, such as 1.14.0. */
public record UcxVersion(int major, int minor, int patch) implements Comparable<UcxVersion> {
  /** Older versions lack functions that the transport calls. */
  public static final UcxVersion OLDEST = new UcxVersion(1, 14, 0);

  private static final Pattern FORM = Pattern.compile("(\\d{1,4})\\.(\\d{1,4})(?:\\.(\\d{1,4}))?.*");

  /** Reads {@code 1.14}, {@code 1.14.0} and {@code 1.14.0-rc1}. */
  public static Optional<UcxVersion> parse(String text) {
    Matcher matcher = FORM.matcher(text.strip());
    return matcher.matches() ? Optional.of(new UcxVersion(Integer.parseInt(matcher.group(1)),
        Integer.parseInt(matcher.group(2)), matcher.group(3) == null ? 0 : Integer.parseInt(matcher.group(3))))
        : Optional.empty();
  }

  @Override
  public int compareTo(UcxVersion other) {
    int order = Integer.compare(major, other.major);
    order = order != 0 ? order : Integer.compare(minor, other.minor);
    return order != 0 ? order : Integer.compare(patch, other.patch);
  }

  @Override
  public String toString() {
    return major + "." + minor + "." + patch;
  }
}
