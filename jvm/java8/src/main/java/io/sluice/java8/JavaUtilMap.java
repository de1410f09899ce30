package io.sluice.java8;

import java.util.AbstractMap.SimpleImmutableEntry;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/** For {@link Map}; its order is that of the arguments. */
public final class JavaUtilMap {
  private JavaUtilMap() {}

  public static <K, V> Map<K, V> copyOf(Map<? extends K, ? extends V> from) {
    Map<K, V> copy = new LinkedHashMap<>();
    from.forEach((key, value) -> copy.put(Objects.requireNonNull(key), Objects.requireNonNull(value)));
    return Collections.unmodifiableMap(copy);
  }

  public static <K, V> Map.Entry<K, V> entry(K key, V value) {
    return new SimpleImmutableEntry<>(Objects.requireNonNull(key), Objects.requireNonNull(value));
  }

  @SafeVarargs
  @SuppressWarnings("varargs")
  public static <K, V> Map<K, V> ofEntries(Map.Entry<? extends K, ? extends V>... entries) {
    Object[] pairs = new Object[entries.length * 2];
    for (int i = 0; i < entries.length; i++) {
      pairs[2 * i] = entries[i].getKey();
      pairs[2 * i + 1] = entries[i].getValue();
    }
    return make(pairs);
  }

  public static <K, V> Map<K, V> of() {
    return make();
  }

  public static <K, V> Map<K, V> of(K k1, V v1) {
    return make(k1, v1);
  }

  public static <K, V> Map<K, V> of(K k1, V v1, K k2, V v2) {
    return make(k1, v1, k2, v2);
  }

  public static <K, V> Map<K, V> of(K k1, V v1, K k2, V v2, K k3, V v3) {
    return make(k1, v1, k2, v2, k3, v3);
  }

  public static <K, V> Map<K, V> of(K k1, V v1, K k2, V v2, K k3, V v3, K k4, V v4) {
    return make(k1, v1, k2, v2, k3, v3, k4, v4);
  }

  public static <K, V> Map<K, V> of(K k1, V v1, K k2, V v2, K k3, V v3, K k4, V v4, K k5, V v5) {
    return make(k1, v1, k2, v2, k3, v3, k4, v4, k5, v5);
  }

  public static <K, V> Map<K, V> of(
      K k1, V v1, K k2, V v2, K k3, V v3,
      K k4, V v4, K k5, V v5, K k6, V v6) {
    return make(k1, v1, k2, v2, k3, v3, k4, v4, k5, v5, k6, v6);
  }

  public static <K, V> Map<K, V> of(
      K k1, V v1, K k2, V v2, K k3, V v3,
      K k4, V v4, K k5, V v5, K k6, V v6, K k7, V v7) {
    return make(k1, v1, k2, v2, k3, v3, k4, v4, k5, v5, k6, v6, k7, v7);
  }

  public static <K, V> Map<K, V> of(
      K k1, V v1, K k2, V v2, K k3, V v3, K k4, V v4,
      K k5, V v5, K k6, V v6, K k7, V v7, K k8, V v8) {
    return make(k1, v1, k2, v2, k3, v3, k4, v4, k5, v5, k6, v6, k7, v7, k8, v8);
  }

  public static <K, V> Map<K, V> of(
      K k1, V v1, K k2, V v2, K k3, V v3, K k4, V v4,
      K k5, V v5, K k6, V v6, K k7, V v7, K k8, V v8, K k9, V v9) {
    return make(k1, v1, k2, v2, k3, v3, k4, v4, k5, v5, k6, v6, k7, v7, k8, v8, k9, v9);
  }

  public static <K, V> Map<K, V> of(
      K k1, V v1, K k2, V v2, K k3, V v3, K k4, V v4, K k5, V v5,
      K k6, V v6, K k7, V v7, K k8, V v8, K k9, V v9, K k10, V v10) {
    return make(k1, v1, k2, v2, k3, v3, k4, v4, k5, v5, k6, v6, k7, v7, k8, v8, k9, v9, k10, v10);
  }

  @SuppressWarnings("unchecked")
  private static <K, V> Map<K, V> make(Object... pairs) {
    Map<K, V> map = new LinkedHashMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      if (map.put((K) Objects.requireNonNull(pairs[i]), (V) Objects.requireNonNull(pairs[i + 1])) != null) {
        throw new IllegalArgumentException("duplicate key: " + pairs[i]);
      }
    }
    return Collections.unmodifiableMap(map);
  }
}
