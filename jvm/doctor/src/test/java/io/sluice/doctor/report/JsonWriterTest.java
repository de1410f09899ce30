package io.sluice.doctor.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

/** The writer produces valid JSON and refuses calls that would not. */
class JsonWriterTest {
  @Test
  void nestedValuesAreSeparatedAndIndented() {
    String json = new JsonWriter().beginObject().name("a").value(1).name("b").beginArray().value("x").value(true)
        .beginObject().endObject().beginArray().endArray().endArray().name("c").beginObject().name("d").value(-5L)
        .endObject().endObject().document();
    assertEquals("""
        {
          "a": 1,
          "b": [
            "x",
            true,
            {},
            []
          ],
          "c": {
            "d": -5
          }
        }
        """, json);
  }

  @Test
  void specialCharactersAreEscaped() {
    assertEquals("\"\\\"\\\\/\\n\\r\\t\\u0000\\u001f\\u007f é → 😀 \\ud83d\"\n",
        new JsonWriter().value("\"\\/\n\r\t\0\u001f\u007f é → 😀 \ud83d").document());
    assertEquals("\"\\ude00\\ud83d\"\n", new JsonWriter().value("\ude00\ud83d").document());
  }

  @Test
  void namesAreEscapedToo() {
    assertEquals("{\n  \"a\\\"b\": \"\"\n}\n",
        new JsonWriter().beginObject().name("a\"b").value("").endObject().document());
  }

  @Test
  void incompleteDocumentsAreErrors() {
    assertThrows(IllegalStateException.class, () -> new JsonWriter().document());
    assertThrows(IllegalStateException.class, () -> new JsonWriter().beginObject().document());
    assertThrows(IllegalStateException.class, () -> new JsonWriter().beginObject().value("no name"));
    assertThrows(IllegalStateException.class, () -> new JsonWriter().beginObject().name("a").name("b"));
    assertThrows(IllegalStateException.class, () -> new JsonWriter().beginObject().name("a").endObject());
    assertThrows(IllegalStateException.class, () -> new JsonWriter().beginArray().name("a"));
    assertThrows(IllegalStateException.class, () -> new JsonWriter().beginArray().endObject());
    assertThrows(IllegalStateException.class, () -> new JsonWriter().value(1).value(2));
  }
}
