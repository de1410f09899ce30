package io.sluice.systemtests;

import io.sluice.nativebridge.NativeCore;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.zip.ZipEntry;

/** Copies of the product's jar that stand for other versions of it. */
final class JarCopy {
  /** The version that the copies say they are. */
  static final String VERSION = "9.9.9";

  private JarCopy() {}

  /** The jar under test. */
  static Path original() {
    return Path.of(NativeCore.class.getProtectionDomain().getCodeSource().getLocation().getPath());
  }

  /** The same classes with another version in the manifest. */
  static Path withOtherVersion(Path file) throws IOException {
    return copy(file, false);
  }

  /** Another version with one more class. */
  static Path withOtherClasses(Path file) throws IOException {
    return copy(file, true);
  }

  /** A jar with nothing in it. */
  static Path empty(Path file) throws IOException {
    try (OutputStream out = Files.newOutputStream(file); JarOutputStream target = new JarOutputStream(out)) {
      target.putNextEntry(new ZipEntry("empty"));
    }
    return file;
  }

  private static Path copy(Path file, boolean otherClasses) throws IOException {
    try (JarFile source = new JarFile(original().toFile()); OutputStream out = Files.newOutputStream(file)) {
      Manifest manifest = source.getManifest();
      manifest.getMainAttributes().put(Attributes.Name.IMPLEMENTATION_VERSION, VERSION);
      try (JarOutputStream target = new JarOutputStream(out, manifest)) {
        for (ZipEntry entry : Collections.list(source.entries())) {
          if (!entry.getName().equals(JarFile.MANIFEST_NAME)) {
            target.putNextEntry(new ZipEntry(entry.getName()));
            try (InputStream in = source.getInputStream(entry)) {
              in.transferTo(target);
            }
          }
        }
        if (otherClasses) {
          target.putNextEntry(new ZipEntry("io/sluice/spark/OfAnotherVersion.class"));
        }
      }
    }
    return file;
  }
}
