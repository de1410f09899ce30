package io.sluice.spark.record;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import scala.collection.immutable.$colon$colon;
import scala.collection.immutable.List;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Vector;
import scala.collection.immutable.VectorBuilder;
import scala.collection.mutable.ArrayBuffer;

/** Makes Scala's sequences. Their builders' method that adds an element has another name in Scala 2.12. */
final class Sequences {
  private static final MethodHandle ADD_TO_VECTOR = adder(VectorBuilder.class);
  private static final MethodHandle ADD_TO_BUFFER = adder(ArrayBuffer.class);

  private Sequences() {}

  private static MethodHandle adder(Class<?> builder) {
    MethodHandles.Lookup lookup = MethodHandles.publicLookup();
    MethodType type = MethodType.methodType(builder, Object.class);
    try {
      return lookup.findVirtual(builder, "addOne", type);
    } catch (NoSuchMethodException e) {
      try {
        return lookup.findVirtual(builder, "$plus$eq", type);
      } catch (ReflectiveOperationException other) {
        throw new LinkageError(builder.getName() + " has no method that adds an element", other);
      }
    } catch (IllegalAccessException e) {
      throw new LinkageError(builder.getName() + " cannot be used", e);
    }
  }

  static List<Object> list(Object[] elements) {
    @SuppressWarnings("unchecked") // An empty list has elements of every type.
    List<Object> list = (List<Object>) (List<?>) Nil$.MODULE$;
    for (int i = elements.length - 1; i >= 0; i--) {
      list = new $colon$colon<>(elements[i], list);
    }
    return list;
  }

  static Vector<Object> vector(Object[] elements) {
    VectorBuilder<Object> builder = new VectorBuilder<>();
    try {
      for (Object element : elements) {
        VectorBuilder<?> same = (VectorBuilder<?>) ADD_TO_VECTOR.invokeExact(builder, element);
      }
    } catch (Throwable e) {
      throw failed(e);
    }
    return builder.result();
  }

  static ArrayBuffer<Object> arrayBuffer(Object[] elements) {
    ArrayBuffer<Object> buffer = new ArrayBuffer<>();
    try {
      for (Object element : elements) {
        ArrayBuffer<?> same = (ArrayBuffer<?>) ADD_TO_BUFFER.invokeExact(buffer, element);
      }
    } catch (Throwable e) {
      throw failed(e);
    }
    return buffer;
  }

  private static Error failed(Throwable e) {
    if (e instanceof Error error) {
      return error;
    }
    return new LinkageError("Scala's sequences cannot be made", e);
  }
}
