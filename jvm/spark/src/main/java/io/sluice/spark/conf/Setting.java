package io.sluice.spark.conf;

import io.sluice.spark.SluiceException;
import java.util.Arrays;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.spark.network.util.JavaUtils;

/**
 * One option, declared once: its key, default, range and meaning. {@link SettingsReference} prints the
 * documentation from these declarations, {@link Settings} resolves them.
 *
 * @param key full name
 * @param defaultText the default as the user would write it
 * @param range the allowed values, for people
 * @param doc its effect, in one or more sentences
 * @param perSession whether a running session may change it (else it is fixed for the application)
 * @param parser text to value; throws {@link IllegalArgumentException} on anything out of range
 */
public record Setting<T>(
    String key, String defaultText, String range, String doc, boolean perSession, Function<String, T> parser) {

  /** The value with which Sluice chooses the number itself. */
  static final String AUTO = "auto";

  /**
   * Parses {@code text}.
   *
   * @throws SluiceException naming key, value and range
   */
  public T parse(String text) {
    try {
      return parser.apply(text.trim());
    } catch (RuntimeException e) {
      throw new SluiceException(key + " = \"" + text + "\" is not valid: it must be " + range, e);
    }
  }

  static Setting<Boolean> flag(String key, boolean defaultValue, boolean perSession, String doc) {
    return new Setting<>(key, Boolean.toString(defaultValue), "true or false", doc, perSession, Setting::parseFlag);
  }

  private static boolean parseFlag(String text) {
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "true" -> true;
      case "false" -> false;
      default -> throw new IllegalArgumentException(text);
    };
  }

  static <E extends Enum<E>> Setting<E> choice(String key, Class<E> type, E defaultValue, Locale letters, String doc) {
    return choice(key, type, defaultValue, letters, false, doc);
  }

  static <E extends Enum<E>> Setting<E> choice(
      String key, Class<E> type, E defaultValue, Locale letters, boolean perSession, String doc) {
    // Spelled as users write it: modes in capitals, levels in small letters; read without regard to case.
    Function<E, String> spelling = value -> letters == null ? value.name() : value.name().toLowerCase(letters);
    String range =
        Arrays.stream(type.getEnumConstants()).map(spelling).collect(Collectors.joining(", ", "one of ", ""));
    return new Setting<>(key, spelling.apply(defaultValue), range, doc, perSession,
        text -> Enum.valueOf(type, text.toUpperCase(Locale.ROOT)));
  }

  static Setting<Long> bytes(String key, String defaultText, String min, String max, String doc) {
    return new Setting<>(key, defaultText, "a size from " + min + " to " + max, doc, false,
        text -> inRange(JavaUtils.byteStringAsBytes(text), size(min), size(max)));
  }

  static Setting<OptionalLong> bytesOrAuto(String key, String min, String max, String doc) {
    return new Setting<>(key, AUTO, "auto, or a size from " + min + " to " + max, doc, false,
        text -> orAuto(text, value -> inRange(JavaUtils.byteStringAsBytes(value), size(min), size(max))));
  }

  static Setting<OptionalLong> countOrAuto(String key, long min, long max, String doc) {
    return new Setting<>(key, AUTO, "auto, or a number from " + min + " to " + max, doc, false,
        text -> orAuto(text, value -> inRange(Long.parseLong(value), min, max)));
  }

  static Setting<Long> count(String key, String defaultText, long min, long max, String doc) {
    return new Setting<>(key, defaultText, "a number from " + min + " to " + max, doc, false,
        text -> inRange(Long.parseLong(text), min, max));
  }

  static Setting<Long> millis(String key, String defaultText, String min, String max, String doc) {
    return new Setting<>(key, defaultText, "a time from " + min + " to " + max, doc, false,
        text -> inRange(JavaUtils.timeStringAsMs(text), JavaUtils.timeStringAsMs(min), JavaUtils.timeStringAsMs(max)));
  }

  static Setting<String> text(String key, String range, String doc) {
    return new Setting<>(key, "", range, doc, false, Function.identity());
  }

  private static OptionalLong orAuto(String text, Function<String, Long> parser) {
    return text.equalsIgnoreCase(AUTO) ? OptionalLong.empty() : OptionalLong.of(parser.apply(text));
  }

  private static long size(String text) {
    return JavaUtils.byteStringAsBytes(text);
  }

  private static long inRange(long value, long min, long max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(value + " is outside " + min + " to " + max);
    }
    return value;
  }
}
