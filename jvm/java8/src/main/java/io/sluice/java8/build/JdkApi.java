package io.sluice.java8.build;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.tree.ClassNode;

/**
 * The public classes of an older Java, as {@code javac --release} knows them: from {@code lib/ct.sym} of the JDK that
 * runs this. A folder of that file is named after the releases that its classes belong to, one character each (8, 9, A
 * for 10, …).
 */
final class JdkApi implements AutoCloseable {
  private final ZipFile table;
  private final Map<String, ZipEntry> entries = new HashMap<>();
  private final Map<String, Optional<ClassNode>> classes = new HashMap<>();

  JdkApi(int release) throws IOException {
    table = new ZipFile(Path.of(System.getProperty("java.home"), "lib", "ct.sym").toFile());
    String letter = Integer.toString(release, Character.MAX_RADIX).toUpperCase(java.util.Locale.ROOT);
    for (ZipEntry entry : Collections.list(table.entries())) {
      String[] parts = entry.getName().split("/", 3);
      if (parts.length == 3 && parts[0].contains(letter) && parts[2].endsWith(".sig")) {
        entries.put(parts[2].substring(0, parts[2].length() - ".sig".length()), entry);
      }
    }
    if (entries.isEmpty()) {
      throw new IOException(table.getName() + " does not describe Java " + release + ": build with JDK 17 to 25");
    }
  }

  /** Whether a class of this name is the JDK's, whether or not the older one has it. */
  static boolean owns(String internalName) {
    // Servlets and REST resources are no part of a JDK, though their names look like it.
    return internalName.startsWith("java/") || internalName.startsWith("jdk/")
        || internalName.startsWith("javax/") && !internalName.startsWith("javax/servlet/")
            && !internalName.startsWith("javax/ws/rs/")
        || internalName.startsWith("sun/") || internalName.startsWith("com/sun/");
  }

  boolean has(String internalName) {
    return entries.containsKey(internalName);
  }

  /** The class without its code, if the older Java has it. */
  Optional<ClassNode> find(String internalName) {
    return classes.computeIfAbsent(internalName, name -> Optional.ofNullable(entries.get(name)).map(this::read));
  }

  private ClassNode read(ZipEntry entry) {
    try (InputStream in = table.getInputStream(entry)) {
      ClassNode node = new ClassNode();
      new ClassReader(in.readAllBytes()).accept(node, ClassReader.SKIP_DEBUG);
      return node;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() throws IOException {
    table.close();
  }
}
