package io.sluice.java8;

import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.stream.Stream;

/** For {@link Matcher}. */
public final class JavaUtilRegexMatcher {
  private JavaUtilRegexMatcher() {}

  public static Stream<MatchResult> results(Matcher matcher) {
    Stream.Builder<MatchResult> found = Stream.builder();
    matcher.reset();
    while (matcher.find()) {
      found.add(matcher.toMatchResult());
    }
    return found.build();
  }
}
