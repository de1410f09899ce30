package io.sluice.java8.build;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;

/**
 * Two uses, both of them steps of the build:
 *
 * <pre>
 * Main jar FILE                       the jar gets classes for Java 8; those for Java 17 move to META-INF/versions/17.
 *                                     Libraries (io/sluice/shaded) are for Java 8 already and stay as they are
 * Main folder RELEASE FROM TO JAR     the classes of a folder for a release; JAR has the replacements
 * </pre>
 */
public final class Main {
  private static final String REPLACEMENTS = "io/sluice/java8/";
  private static final String LIBRARIES = "io/sluice/shaded/";
  private static final String NEWER = "META-INF/versions/17/";
  /** The class file version of Java 8, and where a class file has it. */
  private static final int JAVA_8 = 52;
  private static final int VERSION_BYTE = 7;

  private Main() {}

  public static void main(String[] args) throws IOException {
    if (args.length == 2 && args[0].equals("jar")) {
      jar(Path.of(args[1]));
    } else if (args.length == 5 && args[0].equals("folder")) {
      folder(Integer.parseInt(args[1]), Path.of(args[2]), Path.of(args[3]), Path.of(args[4]));
    } else {
      throw new IllegalArgumentException("jar FILE, or: folder RELEASE FROM TO JAR");
    }
  }

  static void jar(Path file) throws IOException {
    Map<String, byte[]> classes = new LinkedHashMap<>();
    List<byte[]> replacements = new ArrayList<>();
    Path result = file.resolveSibling(file.getFileName() + ".java8");
    try (JarFile in = new JarFile(file.toFile())) {
      if (in.getManifest().getMainAttributes().containsKey(Attributes.Name.MULTI_RELEASE)) {
        throw new IOException(file + " has classes for several releases already");
      }
      for (JarEntry entry : in.stream().filter(e -> e.getName().endsWith(".class")).toList()) {
        byte[] bytes = read(in, entry);
        if (entry.getName().startsWith(REPLACEMENTS)) {
          replacements.add(bytes);
        } else if (entry.getName().startsWith(LIBRARIES)) {
          requireJava8(entry.getName(), bytes);
        } else {
          classes.put(entry.getName(), bytes);
        }
      }
      Map<String, byte[]> rewritten = ClassRewriter.rewrite(8, classes, replacements);
      write(in, rewritten, result);
    }
    Files.move(result, file, StandardCopyOption.REPLACE_EXISTING);
    System.out.println(classes.size() + " classes for Java 8 and for Java 17 in " + file);
  }

  private static void requireJava8(String name, byte[] bytes) throws IOException {
    if (bytes[VERSION_BYTE] > JAVA_8) {
      throw new IOException(name + " is not for Java 8: take a version of the library that is");
    }
  }

  private static void write(JarFile in, Map<String, byte[]> rewritten, Path result) throws IOException {
    Manifest manifest = in.getManifest();
    manifest.getMainAttributes().put(Attributes.Name.MULTI_RELEASE, "true");
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(result))) {
      for (JarEntry entry : in.stream().toList()) {
        byte[] older = rewritten.get(entry.getName());
        if (entry.getName().equals(JarFile.MANIFEST_NAME)) {
          put(out, entry, entry.getName(), null);
          manifest.write(out);
        } else if (older != null) {
          put(out, entry, entry.getName(), older);
          put(out, entry, NEWER + entry.getName(), read(in, entry));
        } else {
          put(out, entry, entry.getName(), read(in, entry));
        }
        out.closeEntry();
      }
    }
  }

  private static void put(JarOutputStream out, JarEntry like, String name, byte[] bytes) throws IOException {
    JarEntry entry = new JarEntry(name);
    entry.setTime(like.getTime());
    out.putNextEntry(entry);
    if (bytes != null) {
      out.write(bytes);
    }
  }

  private static byte[] read(JarFile jar, JarEntry entry) throws IOException {
    try (InputStream in = jar.getInputStream(entry)) {
      return in.readAllBytes();
    }
  }

  static void folder(int release, Path from, Path to, Path jar) throws IOException {
    Map<String, byte[]> classes = new LinkedHashMap<>();
    List<byte[]> replacements = new ArrayList<>();
    try (JarFile in = new JarFile(jar.toFile())) {
      for (JarEntry entry : in.stream().filter(e -> e.getName().matches(REPLACEMENTS + ".*\\.class")).toList()) {
        replacements.add(read(in, entry));
      }
    }
    List<Path> files;
    try (Stream<Path> walk = Files.walk(from)) {
      files = walk.filter(Files::isRegularFile).sorted().toList();
    }
    for (Path file : files) {
      Path target = to.resolve(from.relativize(file));
      Files.createDirectories(target.getParent());
      if (file.toString().endsWith(".class")) {
        classes.put(target.toString(), Files.readAllBytes(file));
      } else {
        Files.copy(file, target, StandardCopyOption.REPLACE_EXISTING);
      }
    }
    for (Map.Entry<String, byte[]> entry : ClassRewriter.rewrite(release, classes, replacements).entrySet()) {
      Files.write(Path.of(entry.getKey()), entry.getValue());
    }
  }
}
