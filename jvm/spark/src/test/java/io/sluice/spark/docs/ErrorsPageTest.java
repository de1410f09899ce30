package io.sluice.spark.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.ExpressionTree;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.NewClassTree;
import com.sun.source.util.TreeScanner;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * {@code docs/errors.md} has every message of an exception or a warning that the product's Java sources make;
 * {@code -Dsluice.writeDocs=true} writes it.
 */
class ErrorsPageTest {
  private static final String REFUSALS = "SluiceException";
  /** They end as fetch failures, or as the failure of a read. */
  private static final Set<String> OF_BLOCKS = Set.of("CorruptFrameException", "FrameNotAuthenticException",
      "EOFException", "IOException", "BlockReadException", "StreamCorruptedException", "UncheckedIOException",
      "FetchFailedException", "MetadataFetchFailedException", "SpillChangedException");

  /** By kind, then by message: the classes that make it. */
  private final Map<String, Map<String, Set<String>>> messages = new LinkedHashMap<>();
  /** Messages that are nothing but those of a cause, or parts that are only known at run time. */
  private int withoutText;

  /** Finds what is thrown, and what is logged. */
  private final class Messages extends TreeScanner<Void, Void> {
    private final SourceTexts texts;
    private ClassTree type;
    private MethodTree method;
    private String topLevel;

    Messages(SourceTexts texts) {
      this.texts = texts;
    }

    @Override
    public Void visitCompilationUnit(CompilationUnitTree unit, Void unused) {
      String file = unit.getSourceFile().getName();
      topLevel = file.substring(file.lastIndexOf('/') + 1).replace(".java", "");
      return super.visitCompilationUnit(unit, unused);
    }

    @Override
    public Void visitClass(ClassTree tree, Void unused) {
      ClassTree outer = type;
      type = tree.getSimpleName().length() == 0 ? type : tree;
      super.visitClass(tree, unused);
      type = outer;
      return null;
    }

    @Override
    public Void visitMethod(MethodTree tree, Void unused) {
      MethodTree outer = method;
      method = tree;
      super.visitMethod(tree, unused);
      method = outer;
      return null;
    }

    @Override
    public Void visitNewClass(NewClassTree tree, Void unused) {
      String name = tree.getIdentifier().toString();
      if (name.endsWith("Exception")) {
        add(kind(name), tree.getArguments());
      }
      return super.visitNewClass(tree, unused);
    }

    @Override
    public Void visitMethodInvocation(MethodInvocationTree tree, Void unused) {
      String name = tree.getMethodSelect().toString();
      if (name.equals("LOG.warn") || name.equals("LOG.error")) {
        add(name.equals("LOG.warn") ? "warnings" : "logged errors", tree.getArguments().subList(0, 1));
      }
      return super.visitMethodInvocation(tree, unused);
    }

    private void add(String kind, List<? extends ExpressionTree> arguments) {
      boolean found = false;
      for (ExpressionTree argument : arguments) {
        for (String text : texts.of(argument, type, method)) {
          // A word of ours: not only names of classes, ids or the message of a cause.
          if (text.matches(".*[a-z]{2,}.* .*")) {
            messages.computeIfAbsent(kind, key -> new TreeMap<>(String.CASE_INSENSITIVE_ORDER))
                .computeIfAbsent(text, key -> new TreeSet<>()).add(topLevel);
            found = true;
          }
        }
      }
      withoutText += found ? 0 : 1;
    }
  }

  private static String kind(String exception) {
    if (exception.equals(REFUSALS)) {
      return "refusals";
    }
    return OF_BLOCKS.contains(exception) ? "blocks" : "faults";
  }

  private String page() throws IOException {
    Sources sources = Sources.parse();
    SourceTexts texts = new SourceTexts(sources.units());
    sources.units().forEach(unit -> new Messages(texts).scan(unit, null));
    StringBuilder page = new StringBuilder("""
        # Errors

        Generated from the sources by `ErrorsPageTest`, which holds this page equal to them. `…` is what a message fills
        in: a number of a shuffle, a path, a setting. Where a message has several forms, each has a line. What to do
        about symptoms: [troubleshooting.md](troubleshooting.md). Why a shuffle is left to Spark, which is no error:
        [metrics.md](metrics.md).

        """);
    section(page, "refusals", "## Errors of settings, versions and tasks",
        "`SluiceException`. When a process starts it ends the application, or the executor; in a task the task fails, "
            + "and Spark tries it again.");
    section(page, "blocks", "## Damaged and missing blocks",
        "`CorruptFrameException`, `IOException` and others. While a task reads a shuffle they become Spark's "
            + "`FetchFailedException`, which names the block, and Spark runs the map tasks again.");
    section(page, "warnings", "## Warnings in the log", "The application goes on; each says with what.");
    section(page, "logged errors", "## Errors in the log", "The application goes on.");
    section(page, "faults", "## Faults of Sluice",
        "`IllegalStateException` and the like: a check inside of Sluice has failed, or code of the application calls "
            + "Sluice's classes wrongly. Please report those that you see.");
    page.append("""
        ## The native core

        An error of the native core is a `NativeException` whose message comes from the core: what failed, the file or
        the length, and the operating system's reason. It is the cause of one of the errors above.
        """);
    return page.toString();
  }

  private void section(StringBuilder page, String kind, String title, String about) {
    page.append(title).append("\n\n").append(wrapped(about)).append("\n\n| message | from |\n| --- | --- |\n");
    messages.get(kind).forEach((message, classes) -> page.append("| ").append(cell(message)).append(" | ")
        .append("`" + String.join("`, `", classes) + "`").append(" |\n"));
    page.append('\n');
  }

  private static String cell(String message) {
    return message.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|").replace("*", "\\*")
        .replace("_", "\\_").replace("[", "\\[").replace("`", "\\`").replace("$", "&#36;");
  }

  static String wrapped(String text) {
    StringBuilder lines = new StringBuilder();
    int column = 0;
    for (String word : text.split(" ")) {
      if (column + word.length() > 118) {
        lines.append('\n');
        column = 0;
      } else if (column > 0) {
        lines.append(' ');
      }
      lines.append(word);
      column += word.length() + 1;
    }
    return lines.toString();
  }

  @Test
  void pageHasEveryMessageOfTheSources() throws IOException {
    String page = page();
    if (Boolean.getBoolean("sluice.writeDocs")) {
      Files.writeString(Sources.page("errors.md"), page);
    }
    assertEquals(page, Files.readString(Sources.page("errors.md")), "run this test with -Dsluice.writeDocs=true");
    List<Integer> found = new ArrayList<>();
    messages.values().forEach(each -> found.add(each.size()));
    int all = found.stream().mapToInt(Integer::intValue).sum();
    // The scan has not lost a kind of expression: most of what is thrown or logged has a text.
    assertTrue(withoutText * 4 < all, withoutText + " of " + all + " have no text");
  }
}
