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
 * {@code docs/errors.md} has every message of an exception or a warning that the product's sources make, of the jar, of
 * its native library and of the Python package; {@code -Dsluice.writeDocs=true} writes it.
 */
class ErrorsPageTest {
  private static final String REFUSALS = "SluiceException";
  /** They end as fetch failures, or as the failure of a read. */
  private static final Set<String> OF_BLOCKS = Set.of("CorruptFrameException", "FrameNotAuthenticException",
      "EOFException", "IOException", "BlockReadException", "StreamCorruptedException", "UncheckedIOException",
      "FetchFailedException", "MetadataFetchFailedException", "SpillChangedException");

  /** Modules whose classes are programs of the jar, not parts of an application. */
  private static final List<String> PROGRAMS = List.of("doctor", "advisor");
  /** Crates that are in the jar's native library. */
  private static final List<String> CRATES = List.of("codec", "columns", "cuda", "engine", "gpu-engine", "gpu-mem",
      "gpu-wire", "jni", "mem", "transport", "ucx");

  /** By kind, then by message: the classes that make it. */
  private final Map<String, Map<String, Set<String>>> messages = new LinkedHashMap<>();
  /** Messages that are nothing but those of a cause, or parts that are only known at run time. */
  private int withoutText;
  private int coreWithoutText;

  /** Finds what is thrown, and what is logged. */
  private final class Messages extends TreeScanner<Void, Void> {
    private final SourceTexts texts;
    private final boolean program;
    private ClassTree type;
    private MethodTree method;
    private String topLevel;

    Messages(SourceTexts texts, boolean program) {
      this.texts = texts;
      this.program = program;
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
        add(program ? "programs" : kind(name), tree.getArguments());
      }
      return super.visitNewClass(tree, unused);
    }

    @Override
    public Void visitMethodInvocation(MethodInvocationTree tree, Void unused) {
      String name = tree.getMethodSelect().toString();
      if (name.equals("LOG.warn") || name.equals("LOG.error")) {
        add(name.equals("LOG.warn") ? "warnings" : "logged errors", tree.getArguments().subList(0, 1));
      } else if (name.endsWith("err.println") && tree.getArguments().size() == 1) {
        addPrinted(tree.getArguments().get(0));
      }
      return super.visitMethodInvocation(tree, unused);
    }

    /** What is printed as an error, without that word. */
    private void addPrinted(ExpressionTree argument) {
      for (String text : texts.of(argument, type, method)) {
        if (text.matches("error: .*[a-z]{2,}.*")) {
          add(program ? "programs" : "refusals", text.substring("error: ".length()));
        }
      }
    }

    private void add(String kind, String text) {
      messages.computeIfAbsent(kind, key -> new TreeMap<>(String.CASE_INSENSITIVE_ORDER))
          .computeIfAbsent(text, key -> new TreeSet<>()).add(topLevel);
    }

    private void add(String kind, List<? extends ExpressionTree> arguments) {
      boolean found = false;
      for (ExpressionTree argument : arguments) {
        for (String text : texts.of(argument, type, method)) {
          // A word of ours: not only names of classes, ids or the message of a cause.
          if (text.matches(".*[a-z]{2,}.* .*")) {
            add(kind, text);
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
    scan(Sources.parse(), false);
    scan(Sources.parse(PROGRAMS), true);
    OtherMessages scala =
        OtherMessages.ofScala(List.of(Sources.of("jvm/sql/src/main"), Sources.of("jvm/sql-scala-2.12/src/main")));
    scala.messages().forEach((message, files) -> messages.get("faults").put(message, files));
    messages.put("python", OtherMessages.ofPython(Sources.of("python/src/sluice_spark")).messages());
    OtherMessages core =
        OtherMessages.ofRust(CRATES.stream().map(crate -> Sources.of("native/crates/" + crate)).toList());
    messages.put("core", core.messages());
    coreWithoutText = core.withoutText();
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
    section(page, "programs", "## The programs of the jar",
        "`java -jar sluice-<version>.jar doctor`, `perftest` and `advise` print `error:` and the message, and end with "
            + "1, or 2 for wrong arguments; `conf` and `report` those above. What the doctor finds: "
            + "[doctor](deployment/doctor.md).");
    section(page, "python", "## The Python package",
        "`SluiceError`, before anything was changed; the package's commands print `error:` and the message, and end "
            + "with 2. What to do: [the Python package](deployment/python.md#what-goes-wrong-and-what-it-says).");
    section(page, "core", "## The native core",
        "`NativeException`, the cause of one of the errors above, or the reason in a warning; behind some come the "
            + "file and the operating system's reason. A few lines go to the executor's standard error.");
    return page.toString().stripTrailing() + "\n";
  }

  private void scan(Sources sources, boolean program) {
    SourceTexts texts = new SourceTexts(sources.units());
    sources.units().forEach(unit -> new Messages(texts, program).scan(unit, null));
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
    int ofCore = messages.get("core").size();
    assertTrue(coreWithoutText * 4 < ofCore, coreWithoutText + " beside " + ofCore + " have no text");
  }
}
