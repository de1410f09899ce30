package io.sluice.spark.record;

import io.sluice.spark.compat.ScalaIterators;
import java.lang.invoke.MethodHandle;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.util.collection.CompactBuffer;
import scala.Product;
import scala.collection.Seq;
import scala.collection.immutable.Range;
import scala.collection.mutable.ListBuffer;
import scala.reflect.ClassTag;
import scala.util.Left;
import scala.util.Right;

import scala.reflect.ClassTag$;

/** Scala's arrays and sequences, and {@code Either}. */
final class ScalaForms {
  private ScalaForms() {}

  static List<NestedForm> all() {
    return List.of(new ArrayOfObjects(),
        new OfArray(NestedTag.ARRAY_SEQ, "scala.collection.immutable.ArraySeq", "unsafeWrapArray", "unsafeArray"),
        new OfArray(NestedTag.MUTABLE_ARRAY_SEQ, mutableArraySeq(), "make", "array"),
        new OfListBuffer(), new OfCompactBuffer(), new OfEither(NestedTag.LEFT, Left.class, Left::new),
        new OfEither(NestedTag.RIGHT, Right.class, Right::new),
        new OfRange(NestedTag.RANGE, "Exclusive", "apply"),
        new OfRange(NestedTag.INCLUSIVE_RANGE, "Inclusive", "inclusive"));
  }

  /** An array of the class in which a {@link CompactBuffer} keeps elements; null if it does not say which. */
  static Object emptyArrayOf(Object buffer) {
    Class<?> element = OfCompactBuffer.classOfElements(buffer);
    return element == null ? null : Array.newInstance(element, 0);
  }

  /** Scala 2.12 has a class of the first name too, which is another. */
  private static String mutableArraySeq() {
    String older = "scala.collection.mutable.WrappedArray";
    return NestedForms.classes(older + "$ofRef").isEmpty() ? "scala.collection.mutable.ArraySeq" : older;
  }

  /** Arrays of objects of a class that {@link ElementClass} has. */
  private static final class ArrayOfObjects extends NestedForm {
    ArrayOfObjects() {
      super(NestedTag.ARRAY, arrays());
    }

    private static List<Class<?>> arrays() {
      List<Class<?>> arrays = new ArrayList<>();
      for (int code = 0; code < ElementClass.count(); code++) {
        Class<?> element = ElementClass.of(code);
        if (!element.isPrimitive() && element != Object.class && element != String.class) {
          arrays.add(Array.newInstance(element, 0).getClass());
        }
      }
      return arrays;
    }

    @Override
    boolean write(NestedWriter out, Object value, int depth) {
      Object[] elements = (Object[]) value;
      return out.tag(ElementClass.codeOf(value.getClass().getComponentType()))
          && out.values(elements.length, ScalaIterators.of(Arrays.asList(elements).iterator()), depth);
    }

    @Override
    Object read(NestedReader in, int depth) {
      Class<?> type = ElementClass.of(in.in().tag());
      Object[] elements = in.values(depth);
      if (type.isPrimitive()) {
        throw NestedInput.damaged("has objects in an array of " + type);
      }
      Object[] array = (Object[]) Array.newInstance(type, elements.length);
      try {
        System.arraycopy(elements, 0, array, 0, elements.length);
      } catch (ArrayStoreException e) {
        throw NestedInput.damaged("has an object of another class in an array of " + type);
      }
      return array;
    }

    @Override
    Object sample(Class<?> type) {
      return Array.newInstance(type.getComponentType(), 1);
    }

    @Override
    boolean hasIdentity(Object value) {
      return ((Object[]) value).length > 0;
    }
  }

  /** A sequence that is an array, which does not count as one more value within the others. */
  private static final class OfArray extends NestedForm {
    private final MethodHandle make;
    private final MethodHandle array;

    OfArray(int tag, String name, String method, String getter) {
      super(tag, NestedForms.ofElements(name));
      make = ScalaMethods.ofObject(name + "$", method, Object.class);
      array = make == null ? null : ScalaMethods.getter(NestedForms.classes(name).get(0), getter);
    }

    @Override
    boolean write(NestedWriter out, Object value, int depth) {
      try {
        return out.value((Object) array.invokeExact(value), depth - 1);
      } catch (Throwable e) {
        throw ScalaMethods.failed(e);
      }
    }

    @Override
    Object read(NestedReader in, int depth) {
      return make(in.array(depth));
    }

    private Object make(Object elements) {
      try {
        return (Object) make.invokeExact(elements);
      } catch (Throwable e) {
        throw ScalaMethods.failed(e);
      }
    }

    @Override
    Object sample(Class<?> type) {
      Object[] arrays = {new Object[] {"a", 1}, new boolean[1], new byte[1], new short[1], new char[1], new int[1],
        new long[1], new float[1], new double[1]};
      return make(arrays[classes().indexOf(type)]);
    }

    @Override
    boolean hasIdentity(Object value) {
      return ((Seq<?>) value).length() > 0;
    }
  }

  private static final class OfListBuffer extends NestedForm {
    private static final MethodHandle ADD = ScalaMethods.of(ListBuffer.class, "$plus$eq");

    OfListBuffer() {
      super(NestedTag.LIST_BUFFER, List.of(ListBuffer.class));
    }

    @Override
    boolean write(NestedWriter out, Object value, int depth) {
      Seq<?> elements = (Seq<?>) value;
      return out.values(elements.length(), elements.iterator(), depth);
    }

    @Override
    Object read(NestedReader in, int depth) {
      return of(in.values(depth));
    }

    private static Object of(Object... elements) {
      return ScalaMethods.addAll(new ListBuffer<>(), ADD, elements);
    }

    @Override
    Object sample(Class<?> type) {
      return of("a", null, 1);
    }
  }

  /**
   * What {@code groupByKey} makes. It has an array of the class that its class tag says, in which it keeps elements
   * that are added later.
   */
  private static final class OfCompactBuffer extends NestedForm {
    /** Null if Spark has changed the class. */
    private static final Field CLASS_TAG = classTag();

    OfCompactBuffer() {
      super(NestedTag.COMPACT_BUFFER, CLASS_TAG == null ? List.of() : List.of(CompactBuffer.class));
    }

    private static Field classTag() {
      try {
        Field field = CompactBuffer.class.getDeclaredField("evidence$1");
        field.setAccessible(true);
        return field;
      } catch (ReflectiveOperationException | RuntimeException changed) {
        return null;
      }
    }

    @Override
    boolean write(NestedWriter out, Object value, int depth) {
      Seq<?> elements = (Seq<?>) value;
      int element = ElementClass.codeOf(classOfElements(value));
      return element != ElementClass.UNKNOWN && out.tag(element)
          && out.values(elements.length(), elements.iterator(), depth);
    }

    private static Class<?> classOfElements(Object buffer) {
      try {
        ClassTag<?> tag = (ClassTag<?>) CLASS_TAG.get(buffer);
        return tag == null ? null : tag.runtimeClass();
      } catch (IllegalAccessException e) {
        throw new LinkageError("the class tag of a buffer cannot be read", e);
      }
    }

    @Override
    Object read(NestedReader in, int depth) {
      Class<?> type = ElementClass.of(in.in().tag());
      try {
        return of(type, in.values(depth));
      } catch (ArrayStoreException | ClassCastException | NullPointerException e) {
        throw NestedInput.damaged("has an object of another class in a buffer of " + type);
      }
    }

    private static Object of(Class<?> type, Object... elements) {
      CompactBuffer<Object> buffer = new CompactBuffer<>(ClassTag$.MODULE$.apply(type));
      for (Object element : elements) {
        buffer.$plus$eq(element);
      }
      return buffer;
    }

    @Override
    Object sample(Class<?> type) {
      return of(Object.class, "a", null, 1, "b");
    }
  }

  private static final class OfEither extends NestedForm {
    private final Function<Object, Object> make;

    OfEither(int tag, Class<?> type, Function<Object, Object> make) {
      super(tag, List.of(type));
      this.make = make;
    }

    @Override
    boolean write(NestedWriter out, Object value, int depth) {
      return out.value(((Product) value).productElement(0), depth);
    }

    @Override
    Object read(NestedReader in, int depth) {
      return make.apply(in.value(depth));
    }

    @Override
    Object sample(Class<?> same) {
      return make.apply("a");
    }
  }

  /** Scala 2.12 has no class for ranges without their end but that of all. */
  private static final class OfRange extends NestedForm {
    private final MethodHandle make;

    OfRange(int tag, String name, String method) {
      super(tag, List.of(type(name)));
      make = ScalaMethods.ofObject(Range.class.getName() + "$", method, int.class, int.class, int.class);
    }

    private static Class<?> type(String name) {
      List<Class<?>> own = NestedForms.classes(Range.class.getName() + "$" + name);
      return own.isEmpty() ? Range.class : own.get(0);
    }

    @Override
    boolean write(NestedWriter out, Object value, int depth) {
      Range range = (Range) value;
      return out.signed(range.start()) && out.signed(range.end()) && out.signed(range.step());
    }

    @Override
    Object read(NestedReader in, int depth) {
      int start = (int) in.in().signed();
      int end = (int) in.in().signed();
      int step = (int) in.in().signed();
      if (step == 0) {
        throw NestedInput.damaged("has a range whose step is 0");
      }
      return of(start, end, step);
    }

    private Object of(int start, int end, int step) {
      try {
        return (Object) make.invokeExact(start, end, step);
      } catch (Throwable e) {
        throw ScalaMethods.failed(e);
      }
    }

    @Override
    Object sample(Class<?> same) {
      return of(1, 9, 3);
    }

    @Override
    boolean hasIdentity(Object value) {
      return false;
    }
  }
}
