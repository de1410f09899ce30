package io.sluice.spark.docs;

import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.util.JavacTask;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * The product's sources, parsed.
 *
 * @param task the compiler's, which knows where a tree stands
 */
record Sources(JavacTask task, List<CompilationUnitTree> units) {
  private static final Path REPOSITORY = Path.of(System.getProperty("sluice.repository"));

  /** A file or a folder of the repository. */
  static Path of(String path) {
    return REPOSITORY.resolve(path);
  }

  static Path page(String name) {
    return REPOSITORY.resolve("docs").resolve(name);
  }

  /** Parses the modules whose classes run in Spark's processes. */
  static Sources parse() throws IOException {
    return parse(List.of("native-bridge", "comet-api", "spark"));
  }

  /** Parses these modules, in this order. */
  static Sources parse(List<String> modules) throws IOException {
    List<Path> files = new ArrayList<>();
    for (String module : modules) {
      try (Stream<Path> all = Files.walk(REPOSITORY.resolve("jvm").resolve(module).resolve("src/main/java"))) {
        all.filter(file -> file.toString().endsWith(".java")).sorted().forEach(files::add);
      }
    }
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    try (StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null)) {
      JavacTask task = (JavacTask) compiler.getTask(
          null, manager, null, List.of("-proc:none"), null, manager.getJavaFileObjectsFromPaths(files));
      List<CompilationUnitTree> units = new ArrayList<>();
      task.parse().forEach(units::add);
      return new Sources(task, units);
    }
  }
}
