package io.sluice.java8.build;

import static org.objectweb.asm.Opcodes.ACC_FINAL;
import static org.objectweb.asm.Opcodes.ACC_INTERFACE;
import static org.objectweb.asm.Opcodes.ACC_PRIVATE;
import static org.objectweb.asm.Opcodes.ACC_PUBLIC;
import static org.objectweb.asm.Opcodes.ACC_STATIC;
import static org.objectweb.asm.Opcodes.INVOKEINTERFACE;
import static org.objectweb.asm.Opcodes.INVOKESPECIAL;
import static org.objectweb.asm.Opcodes.INVOKEVIRTUAL;

import java.util.Collection;
import org.objectweb.asm.Handle;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;

/**
 * Classes before Java 11 have no nests: a private member that another class of the same source file uses becomes
 * package-private, and a call of a private method is {@code invokespecial}.
 */
final class NestAccess {
  private final ClassSet classes;

  NestAccess(ClassSet classes) {
    this.classes = classes;
  }

  /** Over all classes, before any of them is written. */
  void apply(Collection<ClassNode> all) {
    all.forEach(node -> node.methods.forEach(method -> widenWhatItUses(node, method)));
    all.forEach(this::refuseOverrides);
    all.forEach(node -> node.methods.forEach(method -> callOwnPrivateMethods(node, method)));
    all.forEach(node -> {
      node.nestHostClass = null;
      node.nestMembers = null;
    });
  }

  private void widenWhatItUses(ClassNode user, MethodNode method) {
    for (AbstractInsnNode instruction : method.instructions) {
      if (instruction instanceof FieldInsnNode field) {
        widenField(user, field.owner, field.name);
      } else if (instruction instanceof MethodInsnNode call) {
        widenMethod(user, call.owner, call.name, call.desc);
      } else if (instruction instanceof InvokeDynamicInsnNode dynamic) {
        for (Object argument : dynamic.bsmArgs) {
          if (argument instanceof Handle handle && handle.getDesc().startsWith("(")) {
            widenMethod(user, handle.getOwner(), handle.getName(), handle.getDesc());
          }
        }
      }
    }
  }

  private void widenField(ClassNode user, String owner, String name) {
    if (!owner.equals(user.name)) {
      classes.own(owner).flatMap(node -> ClassSet.field(node, name)).ifPresent(f -> f.access &= ~ACC_PRIVATE);
    }
  }

  private void widenMethod(ClassNode user, String owner, String name, String descriptor) {
    if (owner.equals(user.name)) {
      return;
    }
    classes.own(owner).ifPresent(node -> ClassSet.method(node, name, descriptor)
        .filter(m -> (m.access & ACC_PRIVATE) != 0).ifPresent(m -> {
          boolean isStatic = (m.access & ACC_STATIC) != 0;
          boolean ofInterface = (node.access & ACC_INTERFACE) != 0;
          if (ofInterface && !isStatic) {
            throw new RewriteException(user.name, "uses the private method " + name + " of the interface " + owner
                + ": before Java 11 it cannot; make it static or a method of a class");
          }
          m.access &= ~ACC_PRIVATE;
          // Methods of interfaces are private or public.
          m.access |= ofInterface ? ACC_PUBLIC : 0;
          // Final, because no subclass may override a method that was private.
          if (!isStatic && !m.name.equals("<init>")) {
            m.access |= ACC_FINAL;
          }
        }));
  }

  private void refuseOverrides(ClassNode node) {
    for (MethodNode method : node.methods) {
      for (ClassNode parent = parent(node); parent != null; parent = parent(parent)) {
        boolean overrides = !method.name.startsWith("<") && (method.access & ACC_STATIC) == 0
            && ClassSet.method(parent, method.name, method.desc)
                .filter(m -> (m.access & ACC_FINAL) != 0 && (m.access & ACC_PRIVATE) == 0).isPresent();
        if (overrides) {
          throw new RewriteException(node.name, "has a method " + method.name + " as a private one of " + parent.name
              + " that other classes use: rename one of them");
        }
      }
    }
  }

  private ClassNode parent(ClassNode node) {
    return classes.own(node.superName).orElse(null);
  }

  private void callOwnPrivateMethods(ClassNode node, MethodNode method) {
    for (AbstractInsnNode instruction : method.instructions) {
      if (instruction instanceof MethodInsnNode call && call.owner.equals(node.name)
          && (call.getOpcode() == INVOKEVIRTUAL || call.getOpcode() == INVOKEINTERFACE)) {
        ClassSet.method(node, call.name, call.desc).filter(m -> (m.access & ACC_PRIVATE) != 0)
            .ifPresent(m -> call.setOpcode(INVOKESPECIAL));
      }
    }
  }
}
