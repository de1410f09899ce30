package io.sluice.java8.build;

import static org.objectweb.asm.Opcodes.*;

import java.util.List;
import org.objectweb.asm.Type;
import org.objectweb.asm.commons.GeneratorAdapter;
import org.objectweb.asm.commons.Method;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;

/**
 * Replaces each {@code invokedynamic} string concatenation, which is Java 9's, by a method with a
 * {@link StringBuilder}.
 */
final class ConcatenationRewriter {
  private static final Type BUILDER = Type.getType(StringBuilder.class);
  /** In a recipe: the next argument, and the next constant. */
  private static final char ARGUMENT = '\1';
  private static final char CONSTANT = '\2';

  private ConcatenationRewriter() {}

  static void apply(ClassNode node) {
    int serial = 0;
    for (MethodNode method : List.copyOf(node.methods)) {
      for (AbstractInsnNode instruction : method.instructions) {
        if (instruction instanceof InvokeDynamicInsnNode dynamic
            && dynamic.bsm.getOwner().equals("java/lang/invoke/StringConcatFactory")) {
          method.instructions.set(dynamic, replacement(node, dynamic, "concatenate$" + serial++));
        }
      }
    }
  }

  private static MethodInsnNode replacement(ClassNode node, InvokeDynamicInsnNode dynamic, String name) {
    boolean isInterface = (node.access & ACC_INTERFACE) != 0;
    MethodNode method = new MethodNode(ACC_PRIVATE | ACC_STATIC | ACC_SYNTHETIC, name, dynamic.desc, null, null);
    GeneratorAdapter code = new GeneratorAdapter(method, method.access, name, dynamic.desc);
    Type[] arguments = Type.getArgumentTypes(dynamic.desc);
    code.newInstance(BUILDER);
    code.dup();
    code.invokeConstructor(BUILDER, Method.getMethod("void <init>()"));
    String recipe = dynamic.name.equals("makeConcat") ? String.valueOf(ARGUMENT).repeat(arguments.length)
        : (String) dynamic.bsmArgs[0];
    StringBuilder literal = new StringBuilder();
    int argument = 0;
    int constant = 1;
    for (char c : recipe.toCharArray()) {
      if (c == ARGUMENT) {
        appendLiteral(code, literal);
        code.loadArg(argument);
        append(code, arguments[argument++]);
      } else if (c == CONSTANT) {
        literal.append(dynamic.bsmArgs[constant++]);
      } else {
        literal.append(c);
      }
    }
    appendLiteral(code, literal);
    code.invokeVirtual(BUILDER, Method.getMethod("String toString()"));
    code.returnValue();
    code.endMethod();
    node.methods.add(method);
    return new MethodInsnNode(INVOKESTATIC, node.name, name, dynamic.desc, isInterface);
  }

  private static void appendLiteral(GeneratorAdapter code, StringBuilder literal) {
    if (literal.length() > 0) {
      code.push(literal.toString());
      append(code, Type.getType(String.class));
      literal.setLength(0);
    }
  }

  private static void append(GeneratorAdapter code, Type type) {
    String parameter = switch (type.getSort()) {
      case Type.BYTE, Type.SHORT -> "I";
      case Type.OBJECT, Type.ARRAY ->
          type.getClassName().equals("java.lang.String") ? "Ljava/lang/String;" : "Ljava/lang/Object;";
      default -> type.getDescriptor();
    };
    code.invokeVirtual(BUILDER, new Method("append", "(" + parameter + ")Ljava/lang/StringBuilder;"));
  }
}
