package io.sluice.java8.build;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldNode;
import org.objectweb.asm.tree.MethodNode;

/** The classes that are rewritten together, and how a member is found in them and in the older JDK. */
final class ClassSet {
  /** The result of the search for a member. */
  enum Found { YES, NO, IN_AN_UNKNOWN_CLASS }

  private final Map<String, ClassNode> classes = new HashMap<>();
  private final JdkApi api;

  ClassSet(JdkApi api) {
    this.api = api;
  }

  void add(ClassNode node) {
    classes.put(node.name, node);
  }

  Optional<ClassNode> own(String name) {
    return Optional.ofNullable(classes.get(name));
  }

  Found method(String owner, String name, String descriptor) {
    return search(owner, node -> method(node, name, descriptor).isPresent());
  }

  Found field(String owner, String name, String descriptor) {
    return search(owner, node -> node.fields.stream().anyMatch(f -> f.name.equals(name) && f.desc.equals(descriptor)));
  }

  /**
   * The descriptor of a method with these parameters and another result, in the JDK's class or what it inherits from.
   */
  Optional<String> withOtherResult(String owner, String name, String descriptor) {
    String parameters = descriptor.substring(0, descriptor.indexOf(')') + 1);
    String[] other = new String[1];
    search(owner, node -> {
      Optional<MethodNode> found =
          node.methods.stream().filter(m -> m.name.equals(name) && m.desc.startsWith(parameters)).findFirst();
      found.ifPresent(m -> other[0] = m.desc);
      return found.isPresent();
    });
    return Optional.ofNullable(other[0]);
  }

  static Optional<MethodNode> method(ClassNode node, String name, String descriptor) {
    return node.methods.stream().filter(m -> m.name.equals(name) && m.desc.equals(descriptor)).findFirst();
  }

  static Optional<FieldNode> field(ClassNode node, String name) {
    return node.fields.stream().filter(f -> f.name.equals(name)).findFirst();
  }

  private Found search(String owner, Function<ClassNode, Boolean> hasMember) {
    Optional<ClassNode> start = own(owner).or(() -> api.find(owner));
    if (start.isEmpty()) {
      return JdkApi.owns(owner) ? Found.NO : Found.IN_AN_UNKNOWN_CLASS;
    }
    ClassNode node = start.get();
    if (hasMember.apply(node)) {
      return Found.YES;
    }
    Found best = node.superName == null ? Found.NO : search(node.superName, hasMember);
    for (String parent : node.interfaces) {
      if (best == Found.NO) {
        best = search(parent, hasMember);
      }
    }
    // Every interface has Object's methods.
    boolean isInterface = (node.access & org.objectweb.asm.Opcodes.ACC_INTERFACE) != 0;
    return best == Found.NO && isInterface && !node.name.equals("java/lang/Object")
        ? search("java/lang/Object", hasMember) : best;
  }
}
