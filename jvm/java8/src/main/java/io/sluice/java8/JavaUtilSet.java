package io.sluice.java8;

import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.Objects;
import java.util.Set;

/** For {@link Set}; its order is that of the arguments. */
public final class JavaUtilSet {
  private JavaUtilSet() {}

  public static <E> Set<E> copyOf(Collection<? extends E> from) {
    Set<E> copy = new LinkedHashSet<>();
    from.forEach(element -> copy.add(Objects.requireNonNull(element)));
    return Collections.unmodifiableSet(copy);
  }

  public static <E> Set<E> of() {
    return make();
  }

  public static <E> Set<E> of(E e1) {
    return make(e1);
  }

  public static <E> Set<E> of(E e1, E e2) {
    return make(e1, e2);
  }

  public static <E> Set<E> of(E e1, E e2, E e3) {
    return make(e1, e2, e3);
  }

  public static <E> Set<E> of(E e1, E e2, E e3, E e4) {
    return make(e1, e2, e3, e4);
  }

  public static <E> Set<E> of(E e1, E e2, E e3, E e4, E e5) {
    return make(e1, e2, e3, e4, e5);
  }

  public static <E> Set<E> of(E e1, E e2, E e3, E e4, E e5, E e6) {
    return make(e1, e2, e3, e4, e5, e6);
  }

  public static <E> Set<E> of(E e1, E e2, E e3, E e4, E e5, E e6, E e7) {
    return make(e1, e2, e3, e4, e5, e6, e7);
  }

  public static <E> Set<E> of(E e1, E e2, E e3, E e4, E e5, E e6, E e7, E e8) {
    return make(e1, e2, e3, e4, e5, e6, e7, e8);
  }

  public static <E> Set<E> of(E e1, E e2, E e3, E e4, E e5, E e6, E e7, E e8, E e9) {
    return make(e1, e2, e3, e4, e5, e6, e7, e8, e9);
  }

  public static <E> Set<E> of(E e1, E e2, E e3, E e4, E e5, E e6, E e7, E e8, E e9, E e10) {
    return make(e1, e2, e3, e4, e5, e6, e7, e8, e9, e10);
  }

  @SafeVarargs
  public static <E> Set<E> of(E... elements) {
    return make(elements.clone());
  }

  @SafeVarargs
  private static <E> Set<E> make(E... elements) {
    Set<E> set = new LinkedHashSet<>();
    for (E element : elements) {
      if (!set.add(Objects.requireNonNull(element))) {
        throw new IllegalArgumentException("duplicate element: " + element);
      }
    }
    return Collections.unmodifiableSet(set);
  }
}
