package io.sluice.spark.record;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;

/** Methods of Scala's library whose class or result differs between Scala 2.12 and 2.13. */
final class ScalaMethods {
  private ScalaMethods() {}

  /**
   * A method of the object {@code module}, called with objects or {@code int}s and {@code double}s as it declares.
   *
   * @return a handle whose result is an {@code Object}; null when this version of Scala has no such object or method
   */
  static MethodHandle ofObject(String module, String name, Class<?>... parameters) {
    try {
      Class<?> type = Class.forName(module);
      return handle(type, name, parameters).bindTo(type.getField("MODULE$").get(null));
    } catch (ReflectiveOperationException | LinkageError other) {
      return null;
    }
  }

  /** A method of {@code type} that takes and returns objects, called with the object that has it first. */
  static MethodHandle of(Class<?> type, String name) {
    try {
      return handle(type, name, Object.class).asType(MethodType.methodType(Object.class, Object.class, Object.class));
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(type.getName() + " has no method " + name, e);
    }
  }

  /** A method of {@code type} without parameters, called with the object that has it. */
  static MethodHandle getter(Class<?> type, String name) {
    try {
      return handle(type, name).asType(MethodType.methodType(Object.class, Object.class));
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(type.getName() + " has no method " + name, e);
    }
  }

  /** Calls {@code add} of {@code target} for each of the elements, and gives back {@code target}. */
  static Object addAll(Object target, MethodHandle add, Object... elements) {
    try {
      for (Object element : elements) {
        Object same = (Object) add.invokeExact(target, element);
      }
      return target;
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  private static MethodHandle handle(Class<?> type, String name, Class<?>... parameters)
      throws ReflectiveOperationException {
    for (Method method : type.getMethods()) {
      boolean found = method.getName().equals(name) && !Modifier.isStatic(method.getModifiers())
          && java.util.Arrays.equals(method.getParameterTypes(), parameters);
      if (found) {
        MethodHandle handle = MethodHandles.publicLookup().unreflect(method);
        return handle.asType(handle.type().changeReturnType(Object.class));
      }
    }
    throw new NoSuchMethodException(type.getName() + "." + name);
  }

  /** What to throw for {@code e}, which a handle has thrown. */
  static RuntimeException failed(Throwable e) {
    if (e instanceof RuntimeException) {
      return (RuntimeException) e;
    }
    throw e instanceof Error ? (Error) e : new LinkageError("a method of Scala's library failed", e);
  }
}
