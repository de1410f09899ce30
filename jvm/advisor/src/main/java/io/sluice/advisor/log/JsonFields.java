package io.sluice.advisor.log;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.io.IOException;

/**
 * Reads JSON objects field by field, without a tree in memory. Values that have another type than expected count as 0
 * or as empty text: a log is not trusted.
 */
public final class JsonFields {
  /** Characters of one value; a longer one that is asked for makes its line unreadable. */
  private static final int LONGEST_TEXT = 10_000_000;
  /** Nodes of a plan lie two levels below each other. */
  private static final int DEEPEST = 2_000;
  /** Larger than any time, size or count in a log; sums of such numbers stay within a long. */
  private static final long LARGEST_NUMBER = 1L << 50;
  private static final int LONGEST_NUMBER = 20;

  /** For any number of parsers, in any thread. */
  public static final JsonFactory FACTORY = JsonFactory.builder()
      .streamReadConstraints(StreamReadConstraints.builder().maxStringLength(LONGEST_TEXT).maxNestingDepth(DEEPEST)
          .maxNumberLength(1_000).build())
      .configure(JsonFactory.Feature.INTERN_FIELD_NAMES, false).build();

  private JsonFields() {}

  /** Is given each field of an object, or each element of an array. */
  @FunctionalInterface
  public interface Handler {
    /**
     * The parser is at the value. What is not read of it is skipped.
     *
     * @param name the field's; empty for an element
     */
    void value(String name) throws IOException;
  }

  /** Gives each field of the object that {@code json} is at; skips a value that is no object. */
  public static void ofObject(JsonParser json, Handler handler) throws IOException {
    if (json.currentToken() != JsonToken.START_OBJECT) {
      json.skipChildren();
      return;
    }
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      String name = json.currentName();
      json.nextToken();
      handler.value(name);
      json.skipChildren();
    }
  }

  /** Gives each element of the array that {@code json} is at; skips a value that is no array. */
  public static void ofArray(JsonParser json, Handler handler) throws IOException {
    if (json.currentToken() != JsonToken.START_ARRAY) {
      json.skipChildren();
      return;
    }
    while (json.nextToken() != JsonToken.END_ARRAY) {
      if (json.currentToken() == null) {
        throw new IOException("an array does not end");
      }
      handler.value("");
      json.skipChildren();
    }
  }

  /** A count, a size or a time, from 0 to 2^50; Spark writes some of them as text. */
  public static long number(JsonParser json) throws IOException {
    switch (json.currentToken()) {
      case VALUE_NUMBER_INT :
      case VALUE_NUMBER_FLOAT :
        return bounded(json.getDoubleValue());
      case VALUE_STRING :
        return json.getTextLength() > LONGEST_NUMBER ? 0 : parsed(json.getText());
      default :
        return 0;
    }
  }

  /** A number that may have a fraction; 0 for what is none. */
  public static double fraction(JsonParser json) throws IOException {
    return json.currentToken().isNumeric() ? json.getDoubleValue() : 0;
  }

  private static long parsed(String text) {
    try {
      return bounded(Long.parseLong(text));
    } catch (NumberFormatException e) {
      return 0;
    }
  }

  /** Doubles are exact up to 2^53. */
  private static long bounded(double value) {
    return value >= 0 ? (long) Math.min(value, LARGEST_NUMBER) : 0;
  }

  /** A number that identifies something: not negative and an int, else -1. */
  public static int id(JsonParser json) throws IOException {
    long number = json.currentToken() == JsonToken.VALUE_NUMBER_INT ? number(json) : -1;
    return number <= Integer.MAX_VALUE ? (int) number : -1;
  }

  /** At most {@code limit} clean characters. */
  public static String text(JsonParser json, int limit) throws IOException {
    return json.currentToken() == JsonToken.VALUE_STRING ? CleanText.of(json.getText(), limit) : "";
  }
}
