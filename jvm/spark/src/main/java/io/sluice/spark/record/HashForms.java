package io.sluice.spark.record;

import io.sluice.spark.compat.ScalaIterators;
import java.lang.invoke.MethodHandle;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Set;
import scala.collection.mutable.Builder;

/**
 * Scala's sets and maps. The order of those that hash their elements comes from their tables: each is made again by the
 * calls by which the serializer makes it, in the order in which it wrote the elements.
 */
final class HashForms {
  /** Of elements in an immutable set or map that has fields for them. */
  private static final int FEW = 4;

  private HashForms() {}

  static List<NestedForm> all() {
    return List.of(new SmallSet(), new SmallMap(), new Immutable(NestedTag.HASH_SET, "HashSet", false),
        new Immutable(NestedTag.HASH_MAP, "HashMap", true), new Mutable(NestedTag.MUTABLE_HASH_SET, "HashSet", false),
        new Mutable(NestedTag.MUTABLE_HASH_MAP, "HashMap", true));
  }

  private static int size(Object collection, boolean map) {
    return map ? ((scala.collection.Map<?, ?>) collection).size() : ((scala.collection.Set<?>) collection).size();
  }

  /** The elements of a set, or keys and values of a map in turn. */
  private static boolean writeElements(NestedWriter out, Object collection, boolean map, int depth) {
    if (!map) {
      return out.values(size(collection, false), ((scala.collection.Set<?>) collection).iterator(), depth);
    }
    List<Object> inTurn = new ArrayList<>();
    Iterator<?> pairs = ((scala.collection.Map<?, ?>) collection).iterator();
    while (pairs.hasNext()) {
      Tuple2<?, ?> pair = (Tuple2<?, ?>) pairs.next();
      inTurn.add(pair._1());
      inTurn.add(pair._2());
    }
    return out.values(inTurn.size(), ScalaIterators.of(inTurn.iterator()), depth);
  }

  /** The elements of a set, or the pairs of a map. */
  private static Object[] readElements(NestedReader in, boolean map, int depth) {
    Object[] values = in.values(depth);
    if (!map) {
      return values;
    }
    if (values.length % 2 != 0) {
      throw NestedInput.damaged("has a map of " + values.length + " keys and values");
    }
    Object[] pairs = new Object[values.length / 2];
    Arrays.setAll(pairs, i -> new Tuple2<>(values[2 * i], values[2 * i + 1]));
    return pairs;
  }

  private static Object sampleElement(boolean map, int i) {
    return map ? new Tuple2<>("key " + i, i) : "element " + i;
  }

  private static Object[] sampleElements(boolean map, int count) {
    Object[] elements = new Object[count];
    Arrays.setAll(elements, i -> sampleElement(map, i));
    return elements;
  }

  private static final class SmallSet extends NestedForm {
    private static final Object EMPTY = NestedForms.object("scala.collection.immutable.Set$EmptySet$");

    SmallSet() {
      super(NestedTag.SMALL_SET,
          List.of(EMPTY.getClass(), Set.Set1.class, Set.Set2.class, Set.Set3.class, Set.Set4.class));
    }

    @Override
    boolean write(NestedWriter out, Object value, int depth) {
      return writeElements(out, value, false, depth);
    }

    @Override
    Object read(NestedReader in, int depth) {
      return of(in.values(depth));
    }

    private static Object of(Object... e) {
      return switch (e.length) {
        case 0 -> EMPTY;
        case 1 -> new Set.Set1<>(e[0]);
        case 2 -> new Set.Set2<>(e[0], e[1]);
        case 3 -> new Set.Set3<>(e[0], e[1], e[2]);
        case FEW -> new Set.Set4<>(e[0], e[1], e[2], e[3]);
        default -> throw NestedInput.damaged("has a small set of " + e.length);
      };
    }

    @Override
    Object sample(Class<?> type) {
      return of(sampleElements(false, classes().indexOf(type)));
    }

    @Override
    boolean hasIdentity(Object value) {
      return value != EMPTY;
    }
  }

  private static final class SmallMap extends NestedForm {
    private static final Object EMPTY = NestedForms.object("scala.collection.immutable.Map$EmptyMap$");

    SmallMap() {
      super(NestedTag.SMALL_MAP,
          List.of(EMPTY.getClass(), Map.Map1.class, Map.Map2.class, Map.Map3.class, Map.Map4.class));
    }

    @Override
    boolean write(NestedWriter out, Object value, int depth) {
      return writeElements(out, value, true, depth);
    }

    @Override
    Object read(NestedReader in, int depth) {
      return of(in.values(depth));
    }

    private static Object of(Object... e) {
      return switch (e.length) {
        case 0 -> EMPTY;
        case 2 -> new Map.Map1<>(e[0], e[1]);
        case 2 * 2 -> new Map.Map2<>(e[0], e[1], e[2], e[3]);
        case 2 * 3 -> new Map.Map3<>(e[0], e[1], e[2], e[3], e[4], e[5]);
        case 2 * FEW -> new Map.Map4<>(e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7]);
        default -> throw NestedInput.damaged("has a small map of " + e.length + " keys and values");
      };
    }

    @Override
    Object sample(Class<?> type) {
      Object[] elements = new Object[2 * classes().indexOf(type)];
      Arrays.setAll(elements, i -> i % 2 == 0 ? "key " + i : (Object) i);
      return of(elements);
    }

    @Override
    boolean hasIdentity(Object value) {
      return value != EMPTY;
    }
  }

  /** Those of more elements, from Scala 2.13 on; Scala 2.12 has several classes for them. */
  private static final class Immutable extends NestedForm {
    private static final MethodHandle ADD = ScalaMethods.of(Builder.class, "$plus$eq");

    private final boolean map;
    private final MethodHandle builder;

    Immutable(int tag, String name, boolean map) {
      super(tag, classes("scala.collection.immutable." + name));
      this.map = map;
      builder = ScalaMethods.ofObject("scala.collection.immutable." + name + "$", "newBuilder");
    }

    @Override
    boolean write(NestedWriter out, Object value, int depth) {
      return writeElements(out, value, map, depth);
    }

    @Override
    Object read(NestedReader in, int depth) {
      return of(readElements(in, map, depth));
    }

    private static List<Class<?>> classes(String name) {
      boolean is213 = !NestedForms.classes("scala.collection.immutable.ArraySeq").isEmpty();
      return is213 ? NestedForms.classes(name) : List.of();
    }

    private Object of(Object... elements) {
      try {
        Object made = (Object) builder.invokeExact();
        return ((Builder<?, ?>) ScalaMethods.addAll(made, ADD, elements)).result();
      } catch (Throwable e) {
        throw ScalaMethods.failed(e);
      }
    }

    @Override
    Object sample(Class<?> type) {
      return of(sampleElements(map, 2 * FEW));
    }

    @Override
    boolean hasIdentity(Object value) {
      return size(value, map) > 0;
    }
  }

  /**
   * From Scala 2.13 on. Java's serializer gives back a table as long as it was; Kryo's makes one that has room for the
   * elements.
   */
  private static final class Mutable extends NestedForm {
    private static final double LOAD_FACTOR = 0.75;
    /** Longer tables, from which most elements were removed, are left to the serializer. */
    private static final int LENGTH_OF_FEW = 1 << 10;
    private static final long MOST_LENGTH_OF_EACH = 1 << 6;

    private final boolean map;
    private final MethodHandle builder;
    private final MethodHandle builderOfLength;
    private final Field table;
    private final Field loadFactor;

    Mutable(int tag, String name, boolean map) {
      super(tag, classes("scala.collection.mutable." + name));
      String type = "scala.collection.mutable." + name;
      this.map = map;
      builder = ScalaMethods.ofObject(type + "$", "newBuilder");
      builderOfLength = builderOfLength(type);
      table = field(type, "table");
      loadFactor = field(type, "loadFactor");
    }

    /** Those of Scala 2.12 have neither. */
    private static List<Class<?>> classes(String type) {
      return builderOfLength(type) == null || field(type, "table") == null || field(type, "loadFactor") == null
          ? List.of() : NestedForms.classes(type);
    }

    private static MethodHandle builderOfLength(String type) {
      return ScalaMethods.ofObject(type + "$", "newBuilder", int.class, double.class);
    }

    private static Field field(String type, String name) {
      for (Field field : NestedForms.classes(type).get(0).getDeclaredFields()) {
        if (field.getName().equals(name) || field.getName().endsWith("$$" + name)) {
          field.setAccessible(true);
          return field;
        }
      }
      return null;
    }

    private static boolean isUsual(long length, long elements) {
      return length >= 0 && length <= LENGTH_OF_FEW + MOST_LENGTH_OF_EACH * elements;
    }

    @Override
    boolean write(NestedWriter out, Object value, int depth) {
      try {
        int length = Array.getLength(table.get(value));
        return loadFactor.getDouble(value) == LOAD_FACTOR && isUsual(length, size(value, map))
            && out.number(out.classes().keepTables() ? length : 0) && writeElements(out, value, map, depth);
      } catch (IllegalAccessException e) {
        throw new LinkageError("the table of a " + value.getClass().getName() + " cannot be read", e);
      }
    }

    @Override
    Object read(NestedReader in, int depth) {
      long length = in.in().number();
      Object[] elements = readElements(in, map, depth);
      if (!isUsual(length, elements.length)) {
        throw NestedInput.damaged("has a table of " + length + " for " + elements.length + " elements");
      }
      return of((int) length, elements);
    }

    private Object of(int length, Object... elements) {
      try {
        Builder<?, ?> made = (Builder<?, ?>) (length == 0 ? (Object) builder.invokeExact()
            : (Object) builderOfLength.invokeExact(length, LOAD_FACTOR));
        made.sizeHint(elements.length);
        ScalaMethods.addAll(made, Immutable.ADD, elements);
        return made.result();
      } catch (Throwable e) {
        throw ScalaMethods.failed(e);
      }
    }

    @Override
    Object sample(Class<?> type) {
      return of(0, sampleElements(map, 2 * FEW));
    }
  }
}
