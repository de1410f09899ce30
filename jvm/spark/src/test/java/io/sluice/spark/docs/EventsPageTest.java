package io.sluice.spark.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import com.sun.source.doctree.DocCommentTree;
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.DocTrees;
import com.sun.source.util.TreePath;
import io.sluice.spark.events.SluiceEvent;
import java.io.IOException;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * {@code docs/events.md} has every event and its fields, with what their Javadoc says; {@code -Dsluice.writeDocs=true}
 * writes it.
 */
class EventsPageTest {
  private final Map<String, String> constants = new HashMap<>();
  private DocTrees docs;
  private CompilationUnitTree unit;
  private ClassTree event;

  private String page() throws IOException {
    Sources sources = Sources.parse();
    docs = DocTrees.instance(sources.task());
    StringBuilder page = new StringBuilder("""
        # Events

        Generated from the classes in `io.sluice.spark.events` by `EventsPageTest`, which holds this page equal to them.

        A listener of yours gets events by `SparkListener.onOtherEvent`; in Spark's event log each is a line of JSON of
        at most a kilobyte, whose `Event` is the name of the class. Every event has the field `version`, which is %d.
        Fields may be added; those that are here keep their meaning, and one that is missing is null or 0.
        """.formatted(SluiceEvent.VERSION));
    for (CompilationUnitTree each : sources.units()) {
      unit = each;
      for (Tree type : each.getTypeDecls()) {
        if (type instanceof ClassTree tree && tree.getExtendsClause() != null
            && tree.getExtendsClause().toString().equals(SluiceEvent.class.getSimpleName())) {
          event = tree;
          describe(page);
        }
      }
    }
    return page.toString();
  }

  private void describe(StringBuilder page) {
    constants.clear();
    event.getMembers().stream().filter(VariableTree.class::isInstance).map(VariableTree.class::cast)
        .filter(field -> field.getInitializer() != null)
        .forEach(
            field -> constants.put(field.getName().toString(), field.getInitializer().toString().replace("\"", "")));
    String name = "io.sluice.spark.events." + event.getSimpleName();
    page.append("\n## ").append(event.getSimpleName()).append("\n\n`").append(name).append("`. ")
        .append(comment(event)).append("\n\n| field | type | |\n| --- | --- | --- |\n");
    for (VariableTree field : constructor().getParameters()) {
      if (!field.getName().contentEquals("version")) {
        page.append("| `").append(field.getName()).append("` | ").append(type(field)).append(" | ")
            .append(comment(accessor(field))).append(" |\n");
      }
    }
  }

  /** The one that JSON is read by. */
  private MethodTree constructor() {
    return event.getMembers().stream().filter(MethodTree.class::isInstance).map(MethodTree.class::cast)
        .filter(method -> method.getModifiers().getAnnotations().toString().contains("JsonCreator")).findFirst()
        .orElseThrow(() -> new AssertionError(event.getSimpleName() + " has no constructor for JSON"));
  }

  private MethodTree accessor(VariableTree field) {
    return event.getMembers().stream().filter(MethodTree.class::isInstance).map(MethodTree.class::cast)
        .filter(method -> method.getName().equals(field.getName()) && method.getParameters().isEmpty()).findFirst()
        .orElseThrow(() -> new AssertionError(event.getSimpleName() + "." + field.getName() + " has no accessor"));
  }

  private static String type(VariableTree field) {
    return switch (field.getType().toString()) {
      case "int", "long", "Integer" -> "number";
      case "long[]" -> "numbers";
      case "List<String>" -> "texts";
      case "LatencyCounts" -> "`counts`, `totalNanos`, `longestNanos`";
      case "List<PeerLatency>" -> "a list of `executorId`, `blocks` (as `all`)";
      case "List<ColumnBytes>" -> "a list of `field`, `rowBytes`, `encoded` (docs/rest-api.yml, `Column`)";
      case "boolean" -> "true or false";
      case "String" -> "text";
      case "Map<String, Long>" -> "numbers by name";
      case "Map<String, String>" -> "texts by name";
      default -> throw new AssertionError("no word for the type of " + field);
    };
  }

  private String comment(Tree tree) {
    DocCommentTree comment = docs.getDocCommentTree(new TreePath(new TreePath(new TreePath(unit), event), tree));
    if (tree == event) {
      comment = docs.getDocCommentTree(new TreePath(new TreePath(unit), event));
    }
    assertNotNull(comment, () -> event.getSimpleName() + " has no comment for " + tree);
    String text = comment.getFullBody().stream().map(Object::toString).collect(Collectors.joining());
    assertFalse(text.isBlank());
    return plain(text);
  }

  private String plain(String javadoc) {
    String text = javadoc.replaceAll("\\s+", " ").strip();
    text = java.util.regex.Pattern.compile("\\{@link #(\\w+)}").matcher(text)
        .replaceAll(match -> "`" + Optional.ofNullable(constants.get(match.group(1))).orElse(match.group(1)) + "`");
    text = text.replaceAll("`docs/(\\w+\\.md)`", "[$1]($1)").replaceAll("\\{@code docs/(\\w+\\.md)}", "[$1]($1)");
    return text.replaceAll("\\{@(?:code|link) ([^}]*)}", "`$1`").replace("|", "\\|");
  }

  @Test
  void pageHasEveryEventAndField() throws IOException {
    String page = page();
    if (Boolean.getBoolean("sluice.writeDocs")) {
      Files.writeString(Sources.page("events.md"), page);
    }
    assertEquals(page, Files.readString(Sources.page("events.md")), "run this test with -Dsluice.writeDocs=true");
  }
}
