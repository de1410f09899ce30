package io.sluice.spark.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.spark.docs.SourceTokens.Kind;
import io.sluice.spark.docs.SourceTokens.Language;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is found in sources that no compiler parses here. */
class SourceTokensTest {
  @TempDir private Path folder;

  private static List<String> texts(String source, Language language) {
    return SourceTokens.of(source, language).stream().filter(token -> token.kind() == Kind.TEXT)
        .map(SourceTokens.Token::value).toList();
  }

  @Test
  void textsOfRust() {
    assertEquals(List.of("a \"b\" c", "x\\y", "d"), texts("""
        // "no"
        /* "no" */ fn f<'a>(x: &'a str, c: char) { g("a \\"b\\" \\
            c", r#"x\\y"#, b"bytes", c"bytes", '"', '\\'', b'"', "d"); }
        """, Language.RUST));
  }

  @Test
  void textsOfPythonAndScala() {
    assertEquals(List.of("doc", "it's {x}", "b \"c"), texts("""
        \"""doc\"""  # "no"
        f("it's {x}" if x else 'b "c')
        """.replace("f(\"it", "f(f\"it"), Language.PYTHON));
    assertEquals(List.of("a $b", "c"), texts("f(s\"a $b\", 'x', \"c\") // \"no\"", Language.SCALA));
  }

  @Test
  void messagesOfRust() throws IOException {
    Files.createDirectories(folder.resolve("src"));
    Files.writeString(folder.resolve("src/a.rs"), """
        fn f() -> Result<()> {
            let message = format!("cannot write {path}: {}", reason);
            if b { return Err(EngineError::new(ErrorKind::Io, message)); }
            Err(EngineError::writing("opening it", path, &e)).map_err(|_| XError::invalid(format!("row {i} of {n}")))
        }
        impl fmt::Display for Fault {
            fn fmt(&self) { match self { Self::A => "the first one", Self::B => "the second one" } }
        }
        #[cfg(test)]
        mod tests { fn f() { XError::new("of a test"); } }
        """);
    OtherMessages found = OtherMessages.ofRust(List.of(folder));
    assertEquals(Set.of("cannot write …: …", "opening it …: …", "row … of …", "the first one", "the second one"),
        found.messages().keySet());
    assertEquals(Set.of(folder.getFileName() + "/a.rs"), found.messages().get("row … of …"));
    Files.writeString(folder.resolve("src/b.rs"), "fn f() { XError::new(why.to_string()) }");
    assertEquals(found.withoutText() + 1, OtherMessages.ofRust(List.of(folder)).withoutText());
  }

  @Test
  void messagesOfPythonAndScala() throws IOException {
    Files.writeString(folder.resolve("a.py"), """
        _WHY = "there is none"
        def f():
            raise SluiceError(
                f"of {x} "
                "both lines"
            )
            raise SluiceError(_WHY)
        """);
    assertEquals(Set.of("of … both lines", "there is none"), OtherMessages.ofPython(folder).messages().keySet());
    Files.writeString(folder.resolve("a.scala"),
        "throw new SluiceException(s\"of $x \" + \"both lines\"); logWarning(\"goes on\")");
    assertEquals(Set.of("of … both lines", "goes on"), OtherMessages.ofScala(List.of(folder)).messages().keySet());
  }
}
