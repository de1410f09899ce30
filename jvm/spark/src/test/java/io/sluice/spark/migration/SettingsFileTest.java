package io.sluice.spark.migration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.SluiceException;
import java.io.IOException;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.util.Utils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SettingsFileTest {
  private static final List<String> PIECES = List.of("a", "key", "=", ":", " ", "\t", "\f", "#", "!", "\\", "\\\\",
      "\\\n",
      "\\\r\n", "\n", "\r", "\r\n", "\n\n", "\\u0041", "\\u00e", "\\ ", "\\t", "\\:", "é", "漢", "𝄞", "\uFEFF", "x=y");

  private static SettingsFile parse(String text) {
    return SettingsFile.parse(text.getBytes(StandardCharsets.UTF_8));
  }

  /** As Spark's {@code Utils.getPropertiesFromFile}: what {@link Properties} reads, trimmed. */
  static Properties byJava(String text) throws IOException {
    Properties read = new Properties();
    read.load(new StringReader(text));
    read.replaceAll((key, value) -> ((String) value).replaceAll("^[\0- &&[^\r\n]]+|[\0- &&[^\r\n]]+$", ""));
    return read;
  }

  @Test
  void settingsAreThoseThatJavaReadsAndTheTextIsKept() throws IOException {
    Random random = new Random(42);
    int read = 0;
    for (int i = 0; i < 20_000; i++) {
      StringBuilder text = new StringBuilder();
      for (int piece = random.nextInt(25); piece >= 0; piece--) {
        text.append(PIECES.get(random.nextInt(PIECES.size())));
      }
      read += checkAgainstJava(text.toString());
    }
    assertTrue(read > 5_000, "only " + read + " of the texts were readable");
  }

  @Test
  void settingsAreThoseThatSparkReads(@TempDir Path folder) throws IOException {
    Path path = folder.resolve("spark-defaults.conf");
    for (String text : List.of("spark.a 1 \nspark.b=\\\n  two \u00e9\n# no\nspark.c:  \\u0041\\ \\n\nspark.a  2", "",
        "\uFEFFspark.a 1\r\nspark.\\= = \\t x\\r\r!y\rspark.e")) {
      Files.writeString(path, text);
      Map<String, String> read = new TreeMap<>();
      Utils.getPropertiesFromFile(path.toString()).foreach(setting -> read.put(setting._1(), setting._2()));
      Map<String, String> parsed = new TreeMap<>();
      parse(text).settings().forEach((key, value) -> parsed.put((String) key, (String) value));
      assertEquals(read, parsed);
    }
  }

  /** Returns 1 if the text can be read. */
  private static int checkAgainstJava(String text) throws IOException {
    SettingsFile file;
    try {
      file = parse(text);
    } catch (SluiceException e) {
      assertTrue(e.getMessage().contains("continues it") || e.getMessage().contains("hexadecimal"), e.getMessage());
      if (e.getMessage().contains("hexadecimal")) {
        assertThrows(IllegalArgumentException.class, () -> byJava(text), text);
      }
      return 0;
    }
    assertEquals(byJava(text), file.settings(), text);
    assertEquals(text, file.text());
    return 1;
  }

  @Test
  void aSettingIsOfSeveralLines() {
    SettingsFile file = parse("# comment\\\r\nspark.a\\\r\n  .b : one, \\\r\n    two\r\n\r\nspark.c");
    assertEquals(List.of(1, 2, 5, 6), file.parts().stream().map(SettingsFile.Part::line).toList());
    assertEquals("spark.a.b", file.parts().get(1).key());
    assertEquals("one, two", file.parts().get(1).value());
    assertEquals("\r\n", file.parts().get(1).lineEnd());
    assertEquals("\n", file.parts().get(3).lineEnd());
  }

  @Test
  void escapedValuesAreReadBack() throws IOException {
    for (String value : List.of("a\\b", "tab\there", "two\nlines", "form\ffeed", "a\r", "plain=:#!", "é漢𝄞")) {
      Properties read = new Properties();
      read.load(new StringReader("key  " + SettingsFile.escape(value)));
      assertEquals(value, read.getProperty("key"));
    }
  }

  @Test
  void aDamagedLineIsNamed() {
    assertDamaged("a 1\nb 2\\", 2, "continues it");
    assertDamaged("a 1\nb 2\\\n", 2, "continues it");
    assertDamaged("a 1\n\\\n", 2, "continues it");
    assertDamaged("a 1\r\rb \\u12", 3, "hexadecimal");
    assertDamaged("a 1\r\nb \\uXYZW\nc 3", 2, "hexadecimal");
    assertDamaged("a 1\n\nb 2\0", 3, "NUL");
    assertDamaged("\0", 1, "NUL");
  }

  private static void assertDamaged(String text, int line, String why) {
    String message = assertThrows(SluiceException.class, () -> parse(text)).getMessage();
    assertTrue(message.startsWith("line " + line + " ") && message.contains(why), message);
  }

  @ParameterizedTest
  @ValueSource(strings = {"a 1\nb 2\nc \u00e9", "a 1\r\nb 2\r\n\u00e9 x y"})
  void bytesThatAreNotUtf8AreNamed(String text) {
    byte[] latin = text.getBytes(StandardCharsets.ISO_8859_1);
    String message = assertThrows(SluiceException.class, () -> SettingsFile.parse(latin)).getMessage();
    assertTrue(message.startsWith("line 3 is damaged") && message.contains("UTF-8"), message);
  }

  @Test
  void anEmptyFileHasNoSettings() {
    assertEquals(List.of(), parse("").parts());
  }
}
