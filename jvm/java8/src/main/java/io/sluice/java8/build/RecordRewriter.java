package io.sluice.java8.build;

import static org.objectweb.asm.Opcodes.*;

import java.util.List;
import java.util.Locale;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Label;
import org.objectweb.asm.Type;
import org.objectweb.asm.commons.GeneratorAdapter;
import org.objectweb.asm.commons.Method;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;

/**
 * Makes a record an ordinary final class whose {@code equals}, {@code hashCode} and {@code toString} are written out.
 */
final class RecordRewriter {
  private static final String RECORD = "java/lang/Record";
  private static final String RECORDS = "io/sluice/java8/Records";
  private static final Type VALUES = Type.getType(Object[].class);

  private RecordRewriter() {}

  static void apply(ClassNode node) {
    node.recordComponents = null;
    if (!RECORD.equals(node.superName)) {
      return;
    }
    node.superName = "java/lang/Object";
    node.access &= ~ACC_RECORD;
    if (node.signature != null) {
      node.signature = node.signature.replace("L" + RECORD + ";", "Ljava/lang/Object;");
    }
    for (MethodNode method : List.copyOf(node.methods)) {
      for (AbstractInsnNode instruction : method.instructions) {
        if (instruction instanceof MethodInsnNode call && call.owner.equals(RECORD)) {
          call.owner = "java/lang/Object";
        } else if (instruction instanceof InvokeDynamicInsnNode dynamic
            && dynamic.bsm.getOwner().equals("java/lang/runtime/ObjectMethods")) {
          method.instructions.set(dynamic, replacement(node, dynamic));
        }
      }
    }
  }

  private static MethodInsnNode replacement(ClassNode node, InvokeDynamicInsnNode dynamic) {
    String name = "record" + dynamic.name.substring(0, 1).toUpperCase(Locale.ROOT) + dynamic.name.substring(1);
    Handle[] fields = List.of(dynamic.bsmArgs).subList(2, dynamic.bsmArgs.length).toArray(new Handle[0]);
    MethodNode method = new MethodNode(ACC_PRIVATE | ACC_STATIC | ACC_SYNTHETIC, name, dynamic.desc, null, null);
    GeneratorAdapter code = new GeneratorAdapter(method, method.access, name, dynamic.desc);
    switch (dynamic.name) {
      case "toString" -> {
        code.push(Type.getObjectType(node.name));
        code.push((String) dynamic.bsmArgs[1]);
        values(code, () -> code.loadArg(0), fields);
        callRecords(code, "String toString(Class, String, Object[])");
      }
      case "hashCode" -> {
        values(code, () -> code.loadArg(0), fields);
        callRecords(code, "int hashCode(Object[])");
      }
      case "equals" -> equalsOf(method, code, node, fields);
      default -> throw new RewriteException(node.name, "has a record method " + dynamic.name + " that is not known");
    }
    code.returnValue();
    code.endMethod();
    node.methods.add(method);
    return new MethodInsnNode(INVOKESTATIC, node.name, name, dynamic.desc, false);
  }

  private static void equalsOf(MethodNode method, GeneratorAdapter code, ClassNode node, Handle[] fields) {
    Type type = Type.getObjectType(node.name);
    Label same = code.newLabel();
    code.loadArg(1);
    code.instanceOf(type);
    code.ifZCmp(GeneratorAdapter.NE, same);
    code.push(false);
    code.returnValue();
    code.mark(same);
    // The adapter does not accept compressed frames, and the other methods of the class have them.
    method.visitFrame(F_SAME, 0, null, 0, null);
    code.loadArg(1);
    code.checkCast(type);
    int other = code.newLocal(type);
    code.storeLocal(other);
    values(code, () -> code.loadArg(0), fields);
    values(code, () -> code.loadLocal(other), fields);
    callRecords(code, "boolean equals(Object[], Object[])");
  }

  /** Pushes an array of the components of the record that {@code load} pushes. */
  private static void values(GeneratorAdapter code, Runnable load, Handle[] fields) {
    code.push(fields.length);
    code.newArray(VALUES.getElementType());
    for (int i = 0; i < fields.length; i++) {
      Type type = Type.getType(fields[i].getDesc());
      code.dup();
      code.push(i);
      load.run();
      code.getField(Type.getObjectType(fields[i].getOwner()), fields[i].getName(), type);
      code.valueOf(type);
      code.arrayStore(VALUES.getElementType());
    }
  }

  private static void callRecords(GeneratorAdapter code, String declaration) {
    code.invokeStatic(Type.getObjectType(RECORDS), Method.getMethod(declaration));
  }
}
