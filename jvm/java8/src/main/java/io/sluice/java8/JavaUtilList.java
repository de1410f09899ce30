package io.sluice.java8;

import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Objects;

/** For {@link List}. */
public final class JavaUtilList {
  private JavaUtilList() {}

  @SuppressWarnings("unchecked")
  public static <E> List<E> copyOf(Collection<? extends E> from) {
    return (List<E>) make(from.toArray());
  }

  public static <E> List<E> of() {
    return make();
  }

  public static <E> List<E> of(E e1) {
    return make(e1);
  }

  public static <E> List<E> of(E e1, E e2) {
    return make(e1, e2);
  }

  public static <E> List<E> of(E e1, E e2, E e3) {
    return make(e1, e2, e3);
  }

  public static <E> List<E> of(E e1, E e2, E e3, E e4) {
    return make(e1, e2, e3, e4);
  }

  public static <E> List<E> of(E e1, E e2, E e3, E e4, E e5) {
    return make(e1, e2, e3, e4, e5);
  }

  public static <E> List<E> of(E e1, E e2, E e3, E e4, E e5, E e6) {
    return make(e1, e2, e3, e4, e5, e6);
  }

  public static <E> List<E> of(E e1, E e2, E e3, E e4, E e5, E e6, E e7) {
    return make(e1, e2, e3, e4, e5, e6, e7);
  }

  public static <E> List<E> of(E e1, E e2, E e3, E e4, E e5, E e6, E e7, E e8) {
    return make(e1, e2, e3, e4, e5, e6, e7, e8);
  }

  public static <E> List<E> of(E e1, E e2, E e3, E e4, E e5, E e6, E e7, E e8, E e9) {
    return make(e1, e2, e3, e4, e5, e6, e7, e8, e9);
  }

  public static <E> List<E> of(E e1, E e2, E e3, E e4, E e5, E e6, E e7, E e8, E e9, E e10) {
    return make(e1, e2, e3, e4, e5, e6, e7, e8, e9, e10);
  }

  @SafeVarargs
  public static <E> List<E> of(E... elements) {
    return make(elements.clone());
  }

  @SafeVarargs
  private static <E> List<E> make(E... elements) {
    for (E element : elements) {
      Objects.requireNonNull(element);
    }
    return Collections.unmodifiableList(Arrays.asList(elements));
  }
}
