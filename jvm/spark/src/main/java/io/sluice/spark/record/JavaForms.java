package io.sluice.spark.record;

import io.sluice.spark.compat.ScalaIterators;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Java's collections. The order of those that hash their elements comes from the capacity with which the serializer
 * makes them.
 */
final class JavaForms {
  private static final Logger LOG = LoggerFactory.getLogger(JavaForms.class);
  private static final float LOAD_FACTOR = 0.75f;
  private static final int USUAL_CAPACITY = 16;
  /** Larger ones are left to the serializer: they would not fit a row. */
  private static final int MOST_ELEMENTS = 1 << 20;

  private JavaForms() {}

  static List<NestedForm> all() {
    return List.of(new OfArrayList(), new OfHashSet(), new OfHashMap());
  }

  private static boolean writeValues(NestedWriter out, List<?> values, int depth) {
    return out.values(values.size(), ScalaIterators.of(values.iterator()), depth);
  }

  /** The field that says how full the table of a set or map may be; null where the JVM does not open it. */
  private static Field field(Class<?> type, String name) {
    try {
      Field field = type.getDeclaredField(name);
      field.setAccessible(true);
      return field;
    } catch (ReflectiveOperationException | RuntimeException closed) {
      LOG.debug("{} is left to the serializer: {} is not open", type, name, closed);
      return null;
    }
  }

  /** The capacity of a set or map of {@code elements}, which was read; no writer makes it larger than this. */
  private static int checked(long capacity, int elements) {
    if (capacity < 0 || capacity > USUAL_CAPACITY + 2L * elements) {
      throw NestedInput.damaged("has a table for " + capacity + " of " + elements + " elements");
    }
    return (int) capacity;
  }

  private static final class OfArrayList extends NestedForm {
    OfArrayList() {
      super(NestedTag.ARRAY_LIST, List.of(ArrayList.class));
    }

    @Override
    boolean write(NestedWriter out, Object value, int depth) {
      return writeValues(out, (ArrayList<?>) value, depth);
    }

    @Override
    Object read(NestedReader in, int depth) {
      return new ArrayList<>(Arrays.asList(in.values(depth)));
    }

    @Override
    Object sample(Class<?> type) {
      return new ArrayList<>(Arrays.asList("a", null, 1));
    }
  }

  private static final class OfHashSet extends NestedForm {
    private static final Field MAP = field(HashSet.class, "map");

    OfHashSet() {
      super(NestedTag.JAVA_HASH_SET, MAP == null || OfHashMap.FACTOR == null ? List.of() : List.of(HashSet.class));
    }

    @Override
    boolean write(NestedWriter out, Object value, int depth) {
      HashSet<?> set = (HashSet<?>) value;
      return set.size() <= MOST_ELEMENTS && OfHashMap.isUsual(map(set))
          && out.number(out.classes().keepTables() ? capacity(set.size()) : USUAL_CAPACITY)
          && writeValues(out, new ArrayList<>(set), depth);
    }

    private static Object map(HashSet<?> set) {
      try {
        return MAP.get(set);
      } catch (IllegalAccessException e) {
        throw new LinkageError("the table of a set cannot be read", e);
      }
    }

    /** As its {@code readObject} computes it. */
    private static int capacity(int size) {
      return (int) (size * Math.min(1 / LOAD_FACTOR, 4.0f));
    }

    @Override
    Object read(NestedReader in, int depth) {
      long capacity = in.in().number();
      Object[] elements = in.values(depth);
      HashSet<Object> set = new HashSet<>(checked(capacity, elements.length));
      set.addAll(Arrays.asList(elements));
      return set;
    }

    @Override
    Object sample(Class<?> type) {
      return new HashSet<>(Arrays.asList("a", null, 1));
    }
  }

  private static final class OfHashMap extends NestedForm {
    private static final Field FACTOR = field(HashMap.class, "loadFactor");
    /** Whether this JDK's {@code readObject} makes the table one element larger than needed. */
    private static final boolean ADDS_ONE = keysOf(sentByJava(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, USUAL_CAPACITY))
        .indexOf(USUAL_CAPACITY) != 1;

    OfHashMap() {
      super(NestedTag.JAVA_HASH_MAP, FACTOR == null ? List.of() : List.of(HashMap.class));
    }

    private static List<Object> keysOf(Map<?, ?> map) {
      return new ArrayList<>(map.keySet());
    }

    /** A map of these keys after it was written and read. */
    private static Map<?, ?> sentByJava(int... keys) {
      HashMap<Integer, Integer> map = new HashMap<>();
      Arrays.stream(keys).forEach(key -> map.put(key, key));
      try {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
          out.writeObject(map);
        }
        return (Map<?, ?>) new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())).readObject();
      } catch (IOException | ClassNotFoundException e) {
        throw new IllegalStateException("a map cannot be written and read", e);
      }
    }

    private static boolean isUsual(Object map) {
      try {
        return FACTOR.getFloat(map) == LOAD_FACTOR;
      } catch (IllegalAccessException e) {
        throw new LinkageError("the table of a map cannot be read", e);
      }
    }

    /** That makes a table as long as {@code readObject} makes it. */
    private static int capacity(int size) {
      double needed = ADDS_ONE ? size / LOAD_FACTOR + 1.0f : Math.ceil(size / (double) LOAD_FACTOR);
      return Math.max(USUAL_CAPACITY, (int) needed);
    }

    @Override
    boolean write(NestedWriter out, Object value, int depth) {
      HashMap<?, ?> map = (HashMap<?, ?>) value;
      List<Object> inTurn = new ArrayList<>();
      map.forEach((key, element) -> {
        inTurn.add(key);
        inTurn.add(element);
      });
      return map.size() <= MOST_ELEMENTS && isUsual(map)
          && out.number(out.classes().keepTables() ? capacity(map.size()) : USUAL_CAPACITY)
          && writeValues(out, inTurn, depth);
    }

    @Override
    Object read(NestedReader in, int depth) {
      long capacity = in.in().number();
      Object[] values = in.values(depth);
      if (values.length % 2 != 0) {
        throw NestedInput.damaged("has a map of " + values.length + " keys and values");
      }
      HashMap<Object, Object> map = new HashMap<>(checked(capacity, values.length / 2));
      for (int i = 0; i < values.length; i += 2) {
        map.put(values[i], values[i + 1]);
      }
      return map;
    }

    @Override
    Object sample(Class<?> type) {
      HashMap<Object, Object> map = new HashMap<>();
      map.put("a", 1);
      map.put(2, null);
      return map;
    }
  }
}
