package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.SluiceShuffleManager;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.jar.JarFile;
import java.util.zip.ZipEntry;
import org.apache.spark.ShuffleDependency;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.Handle;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import scala.util.Properties;

/**
 * Every member of Spark and Scala to which the jar's classes refer exists on the Spark line that runs, also those on
 * code paths that no short test executes. The jar is compiled once, against one line.
 */
@Tag("everyLine")
class LinkageTest {
  private static final int MIN_REFERENCES = 300;
  /** Loaded only where {@code ShuffleDependency} has row-based checksums, from Spark 4.1. */
  private static final String NEWER_LINES_ONLY = "io/sluice/spark/compat/RowBasedChecksums$Present";
  /** The plan nodes, which are there for each version of Scala. */
  private static final String SCALA_2_12_ONLY = "io/sluice/spark/sql/scala212/plan/";
  private static final String SCALA_2_13_ONLY = "io/sluice/spark/sql/plan/";
  /** Extends a class of Comet's, and is loaded only where Comet is. */
  private static final String WITH_COMET_ONLY = "io/sluice/spark/comet/CometReader.class";
  /** Classes of the jar in a package of Spark's; one half of them is for another line. */
  private static final String OWN = "org/apache/spark/status/api/v1/sluice/";

  private final Set<String> missing = new TreeSet<>();
  private int references;

  @Test
  void membersOfSparkExist() throws IOException, URISyntaxException {
    String jar = Paths.get(SluiceShuffleManager.class.getProtectionDomain().getCodeSource().getLocation().toURI())
        .toString();
    try (JarFile file = new JarFile(jar)) {
      file.stream().filter(entry -> entry.getName().endsWith(".class")).filter(this::isLoadedHere).forEach(entry -> {
        try (InputStream bytes = file.getInputStream(entry)) {
          new ClassReader(bytes).accept(new References(), ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
        } catch (IOException e) {
          throw new UncheckedIOException(entry.getName(), e);
        }
      });
    }
    assertTrue(references > MIN_REFERENCES, () -> "only " + references + " references to Spark in " + jar);
    assertEquals(Collections.emptySet(), missing);
  }

  private boolean isLoadedHere(ZipEntry entry) {
    String otherScala = Properties.versionNumberString().startsWith("2.12.") ? SCALA_2_13_ONLY : SCALA_2_12_ONLY;
    if (entry.getName().contains(otherScala) || entry.getName().endsWith(WITH_COMET_ONLY)) {
      return false;
    }
    return !entry.getName().endsWith(NEWER_LINES_ONLY + ".class") || Arrays.stream(
        ShuffleDependency.class.getMethods()).anyMatch(method -> method.getName().equals("rowBasedChecksums"));
  }

  /** Checks the members to which the code of one class refers. */
  private final class References extends ClassVisitor {
    private String name;

    References() {
      super(Opcodes.ASM9);
    }

    @Override
    public void visit(int version, int access, String name, String signature, String superName, String[] interfaces) {
      this.name = name;
      check(name, superName, type -> {});
      for (String parent : interfaces) {
        check(name, parent, type -> {});
      }
    }

    @Override
    public MethodVisitor visitMethod(int access, String method, String descriptor, String signature, String[] errors) {
      String user = name + "." + method;
      return new MethodVisitor(Opcodes.ASM9) {
        @Override
        public void visitMethodInsn(int opcode, String owner, String member, String type, boolean isInterface) {
          // A method that only forwards to Spark's method of the same name is called by Spark alone, on lines that have
          // the method.
          if (!member.equals(method) || !type.equals(descriptor)) {
            checkMethod(user, owner, member, type, opcode == Opcodes.INVOKESTATIC, isInterface);
          }
        }

        @Override
        public void visitInvokeDynamicInsn(String member, String type, Handle bootstrap, Object... arguments) {
          for (Object argument : arguments) {
            if (argument instanceof Handle handle && handle.getTag() >= Opcodes.H_INVOKEVIRTUAL) {
              checkMethod(user, handle.getOwner(), handle.getName(), handle.getDesc(),
                  handle.getTag() == Opcodes.H_INVOKESTATIC, handle.isInterface());
            }
          }
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String member, String type) {
          check(user, owner, found -> {
            if (hierarchy(found).stream().flatMap(part -> Arrays.stream(part.getDeclaredFields())).noneMatch(
                field -> field.getName().equals(member) && Type.getDescriptor(field.getType()).equals(type))) {
              missing.add(user + " uses the field " + owner + "." + member + " " + type);
            }
          });
        }

        @Override
        public void visitTypeInsn(int opcode, String type) {
          check(user, type, found -> {});
        }
      };
    }
  }

  private void checkMethod(
      String user, String owner, String member, String descriptor, boolean isStatic, boolean isInterface) {
    check(user, owner, found -> {
      boolean exists = member.equals("<init>")
          ? Arrays.stream(found.getDeclaredConstructors())
              .anyMatch(constructor -> Type.getConstructorDescriptor(constructor).equals(descriptor))
          : hierarchy(found).stream().flatMap(part -> Arrays.stream(part.getDeclaredMethods())).anyMatch(
              method -> method.getName().equals(member) && Type.getMethodDescriptor(method).equals(descriptor)
                  && Modifier.isStatic(method.getModifiers()) == isStatic);
      if (!exists || found.isInterface() != isInterface) {
        missing.add(user + " calls " + owner + "." + member + descriptor);
      }
    });
  }

  private void check(String user, String owner, Consumer<Class<?>> members) {
    if (!owner.startsWith("org/apache/spark/") && !owner.startsWith("scala/") || owner.startsWith(OWN)) {
      return;
    }
    references++;
    try {
      members.accept(Class.forName(owner.replace('/', '.'), false, getClass().getClassLoader()));
    } catch (ClassNotFoundException | LinkageError e) {
      missing.add(user + " uses " + owner + ": " + e);
    }
  }

  private static List<Class<?>> hierarchy(Class<?> type) {
    List<Class<?>> found = new ArrayList<>();
    add(type, found);
    found.add(Object.class);
    return found;
  }

  private static void add(Class<?> type, List<Class<?>> found) {
    if (type != null && !found.contains(type)) {
      found.add(type);
      add(type.getSuperclass(), found);
      for (Class<?> parent : type.getInterfaces()) {
        add(parent, found);
      }
    }
  }
}
