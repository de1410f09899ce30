package io.sluice.bench.protocol;

import com.google.gson.FieldNamingPolicy;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;

/** JSON as this tool writes it: records' fields in declaration order, in snake case; nulls left out. */
public final class Json {

  private static final GsonBuilder BUILDER = new GsonBuilder()
      .setFieldNamingPolicy(FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES)
      .disableHtmlEscaping();
  private static final Gson LINE = BUILDER.create();
  private static final Gson PRETTY = BUILDER.setPrettyPrinting().create();

  private Json() {}

  /** {@code value} without a line break. */
  public static String line(Object value) {
    return LINE.toJson(value);
  }

  /** {@code value} indented, for files that people read. */
  public static String pretty(Object value) {
    return PRETTY.toJson(value);
  }

  /** The {@code type} in {@code json}. */
  public static <T> T parse(String json, Class<T> type) {
    return LINE.fromJson(json, type);
  }
}
