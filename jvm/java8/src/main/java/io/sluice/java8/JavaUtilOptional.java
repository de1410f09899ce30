package io.sluice.java8;

import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** For {@link Optional}. */
public final class JavaUtilOptional {
  private JavaUtilOptional() {}

  public static <T> boolean isEmpty(Optional<T> optional) {
    return !optional.isPresent();
  }

  @SuppressWarnings("unchecked")
  public static <T> Optional<T> or(Optional<T> optional, Supplier<? extends Optional<? extends T>> other) {
    return optional.isPresent() ? optional : (Optional<T>) other.get();
  }

  public static <T> T orElseThrow(Optional<T> optional) {
    return optional.orElseThrow(() -> new NoSuchElementException("No value present"));
  }

  public static <T> Stream<T> stream(Optional<T> optional) {
    return optional.map(Stream::of).orElseGet(Stream::empty);
  }

  public static <T> void ifPresentOrElse(Optional<T> optional, Consumer<? super T> action, Runnable otherwise) {
    if (optional.isPresent()) {
      action.accept(optional.get());
    } else {
      otherwise.run();
    }
  }
}
