package io.sluice.java8.build;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.ClassNode;

/** Rewrites a set of classes that belong together for one older Java. */
final class ClassRewriter {
  /** The first release whose classes have nests and need no written-out string concatenation. */
  private static final int FIRST_WITH_NESTS = 11;
  /** Version 52 is Java 8's, and each release adds one. */
  private static final int VERSION_OF_JAVA_0 = Opcodes.V1_8 - 8;
  private static final int NEWEST = Opcodes.V17;

  private ClassRewriter() {}

  /**
   * The classes for {@code release}, under the names that they came with.
   *
   * @param context classes that are there anyway: the replacements
   * @throws RewriteException when a class needs an API or a construct that the release lacks
   */
  static Map<String, byte[]> rewrite(int release, Map<String, byte[]> originals, List<byte[]> context)
      throws IOException {
    try (JdkApi api = new JdkApi(release)) {
      ClassSet classes = new ClassSet(api);
      context.forEach(bytes -> classes.add(read(bytes)));
      ApiRewriter apiRewriter = new ApiRewriter(classes, api);
      Map<String, ClassNode> nodes = new LinkedHashMap<>();
      originals
          .forEach((name, bytes) -> nodes.put(name, apiRewriter.replaceTypes(withoutNewSyntax(release, read(bytes)))));
      nodes.values().forEach(classes::add);
      if (release < FIRST_WITH_NESTS) {
        new NestAccess(classes).apply(nodes.values());
      }
      nodes.values().forEach(apiRewriter::apply);
      refuseMissing(release, apiRewriter.missing());
      Map<String, byte[]> rewritten = new LinkedHashMap<>();
      nodes.forEach((name, node) -> rewritten.put(name, write(release, node)));
      return rewritten;
    }
  }

  private static ClassNode withoutNewSyntax(int release, ClassNode node) {
    if ((node.version & 0xFFFF) > NEWEST) {
      throw new RewriteException(node.name, "is of class version " + node.version + ", compile with --release 17");
    }
    RecordRewriter.apply(node);
    node.permittedSubclasses = null;
    if (release < FIRST_WITH_NESTS) {
      ConcatenationRewriter.apply(node);
    }
    return node;
  }

  private static void refuseMissing(int release, List<String> missing) {
    if (!missing.isEmpty()) {
      throw new RewriteException("Java " + release,
          "lacks what these classes use. Write it otherwise, or add a method to "
              + "io.sluice.java8 (its package-info says how):\n  "
              + missing.stream().sorted().collect(Collectors.joining("\n  ")));
    }
  }

  private static ClassNode read(byte[] bytes) {
    ClassNode node = new ClassNode();
    new ClassReader(bytes).accept(node, 0);
    return node;
  }

  private static byte[] write(int release, ClassNode node) {
    node.version = VERSION_OF_JAVA_0 + release;
    // Stack map frames stay as javac made them; added methods have their own.
    ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
    node.accept(writer);
    return writer.toByteArray();
  }
}
