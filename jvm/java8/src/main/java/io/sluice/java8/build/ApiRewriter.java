package io.sluice.java8.build;

import static org.objectweb.asm.Opcodes.*;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Type;
import org.objectweb.asm.commons.ClassRemapper;
import org.objectweb.asm.commons.Remapper;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TypeInsnNode;

/**
 * Looks at every use of the JDK. A call that the older JDK lacks goes to {@code io.sluice.java8} instead; what is not
 * there either is an error. A method that only got a narrower result ({@code ByteBuffer.flip}) is called as it was,
 * with a cast.
 */
final class ApiRewriter {
  private static final String REPLACEMENTS = "io/sluice/java8/";

  private final ClassSet classes;
  private final JdkApi api;
  private final List<String> missing = new ArrayList<>();

  ApiRewriter(ClassSet classes, JdkApi api) {
    this.classes = classes;
    this.api = api;
  }

  /** The APIs that the older Java lacks and that have no replacement; valid after {@link #apply}. */
  List<String> missing() {
    return missing;
  }

  void apply(ClassNode node) {
    for (MethodNode method : node.methods) {
      for (AbstractInsnNode instruction : method.instructions.toArray()) {
        if (instruction instanceof MethodInsnNode call) {
          rewrite(node, method, call);
        } else if (instruction instanceof FieldInsnNode field) {
          rewrite(node, field);
        } else if (instruction instanceof InvokeDynamicInsnNode dynamic) {
          dynamic.bsmArgs = Arrays.stream(dynamic.bsmArgs)
              .map(a -> a instanceof Handle handle ? rewrite(node, handle) : a).toArray();
        }
      }
    }
    checkTypes(node);
  }

  private void rewrite(ClassNode node, FieldInsnNode field) {
    if (classes.field(field.owner, field.name, field.desc) != ClassSet.Found.NO) {
      return;
    }
    String replacement = nameOfReplacement(field.owner);
    if (field.getOpcode() == GETSTATIC && classes.field(replacement, field.name, field.desc) == ClassSet.Found.YES) {
      field.owner = replacement;
    } else {
      miss(node, field.owner + "." + field.name);
    }
  }

  private void rewrite(ClassNode node, MethodNode method, MethodInsnNode call) {
    if (call.owner.startsWith("[") || call.owner.equals("java/lang/invoke/MethodHandle")
        || classes.method(call.owner, call.name, call.desc) != ClassSet.Found.NO) {
      return;
    }
    boolean isStatic = call.getOpcode() == INVOKESTATIC;
    Optional<Handle> replacement = replacement(call.owner, call.name, call.desc, isStatic);
    Optional<String> wider = classes.withOtherResult(call.owner, call.name, call.desc);
    if (replacement.isPresent() && call.getOpcode() != INVOKESPECIAL) {
      Handle to = replacement.get();
      method.instructions.set(call, new MethodInsnNode(INVOKESTATIC, to.getOwner(), to.getName(), to.getDesc(), false));
    } else if (wider.isPresent()) {
      method.instructions.insert(call, new TypeInsnNode(CHECKCAST, Type.getReturnType(call.desc).getInternalName()));
      call.desc = wider.get();
    } else {
      miss(node, call.owner + "." + call.name + call.desc);
    }
  }

  private Handle rewrite(ClassNode node, Handle handle) {
    if (!handle.getDesc().startsWith("(") || handle.getOwner().startsWith("[")
        || classes.method(handle.getOwner(), handle.getName(), handle.getDesc()) != ClassSet.Found.NO) {
      return handle;
    }
    boolean isStatic = handle.getTag() == H_INVOKESTATIC;
    Optional<Handle> replacement = replacement(handle.getOwner(), handle.getName(), handle.getDesc(), isStatic);
    if (replacement.isEmpty()) {
      miss(node, handle.getOwner() + "." + handle.getName() + handle.getDesc() + " as a method reference");
    }
    return replacement.orElse(handle);
  }

  /** Searches the replacement of the owner, then those of the classes that the owner inherits from. */
  private Optional<Handle> replacement(String owner, String name, String descriptor, boolean isStatic) {
    String parameters = isStatic ? descriptor : "(L" + owner + ";" + descriptor.substring(1);
    Optional<Handle> found = classes.own(nameOfReplacement(owner))
        .filter(type -> ClassSet.method(type, name, parameters).isPresent())
        .map(type -> new Handle(H_INVOKESTATIC, type.name, name, parameters, false));
    Optional<ClassNode> type = classes.own(owner).or(() -> api.find(owner));
    if (found.isPresent() || isStatic || type.isEmpty()) {
      return found;
    }
    return Stream.concat(Stream.ofNullable(type.get().superName), type.get().interfaces.stream())
        .flatMap(parent -> replacement(parent, name, descriptor, false).stream()).findFirst();
  }

  /** java/util/List becomes io/sluice/java8/JavaUtilList. Names of Scala have several dollar signs in a row. */
  private static String nameOfReplacement(String owner) {
    return Arrays.stream(owner.split("[/$]+")).filter(part -> !part.isEmpty())
        .map(part -> Character.toUpperCase(part.charAt(0)) + part.substring(1))
        .collect(Collectors.joining("", REPLACEMENTS, ""));
  }

  /** The class with other names for those classes that the older Java lacks and that have a replacement. */
  ClassNode replaceTypes(ClassNode node) {
    ClassNode renamed = new ClassNode();
    node.accept(new ClassRemapper(renamed, new Remapper() {
      @Override
      public String map(String internalName) {
        String replacement = nameOfReplacement(internalName);
        boolean replaced = JdkApi.owns(internalName) && !api.has(internalName) && classes.own(replacement).isPresent();
        return replaced ? replacement : internalName;
      }
    }));
    return renamed;
  }

  private void checkTypes(ClassNode node) {
    TreeSet<String> used = new TreeSet<>();
    node.accept(new ClassRemapper(new ClassWriter(0), new Remapper() {
      @Override
      public String map(String internalName) {
        used.add(internalName);
        return internalName;
      }
    }));
    used.stream().filter(type -> JdkApi.owns(type) && !api.has(type)).forEach(type -> miss(node, type));
  }

  private void miss(ClassNode node, String what) {
    missing.add(node.name.replace('/', '.') + " uses " + what);
  }
}
