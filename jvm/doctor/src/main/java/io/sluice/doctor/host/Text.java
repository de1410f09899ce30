package io.sluice.doctor.host;

/**
 * The text of a file or command, or the reason why there is none.
 *
 * @param value the text without surrounding white space; null when there is none
 * @param reason why there is none, for people; null when there is one
 */
public record Text(String value, String reason) {
  public static Text of(String value) {
    return new Text(value.strip(), null);
  }

  public static Text missing(String reason) {
    return new Text(null, reason);
  }

  public boolean known() {
    return value != null;
  }

  public String or(String other) {
    return known() ? value : other;
  }
}
