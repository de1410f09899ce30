package io.sluice.spark.compat;

import io.sluice.spark.SluiceException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Executable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Looks for a constructor or static method of one class under several known signatures; the first that exists
 * wins. A signature is the caller's arguments plus parameters with fixed values, mostly trailing ones, so all
 * candidates become handles of the same type.
 */
final class Signatures {
  private static final MethodHandles.Lookup LOOKUP = MethodHandles.publicLookup();

  private final Class<?> owner;
  private final String sparkVersion;
  private final String supported;
  private final List<String> tried = new ArrayList<>();
  private MethodHandle found;

  Signatures(Class<?> owner, String sparkVersion, String supported) {
    this.owner = owner;
    this.sparkVersion = sparkVersion;
    this.supported = supported;
  }

  Signatures constructor(List<Class<?>> arguments) {
    return constructor(arguments, List.of());
  }

  Signatures constructor(List<Class<?>> arguments, List<Class<?>> trailing, Object... values) {
    MethodType type = MethodType.methodType(void.class, concat(arguments, trailing));
    return attempt("<init>", type, arguments.size(), values, () -> LOOKUP.findConstructor(owner, type));
  }

  Signatures staticMethod(String name, Class<?> result, List<Class<?>> arguments) {
    return staticMethod(name, result, arguments, List.of());
  }

  Signatures staticMethod(
      String name, Class<?> result, List<Class<?>> arguments, List<Class<?>> trailing, Object... values) {
    MethodType type = MethodType.methodType(result, concat(arguments, trailing));
    return attempt(name, type, arguments.size(), values, () -> LOOKUP.findStatic(owner, name, type));
  }

  /** As the others, for a method whose fixed {@code values} lie between two groups of passed arguments. */
  Signatures staticMethod(String name, Class<?> result, List<Class<?>> before, List<Class<?>> fixed,
      List<Class<?>> after, Object... values) {
    MethodType type = MethodType.methodType(result, concat(concat(before, fixed), after));
    return attempt(name, type, before.size(), values, () -> LOOKUP.findStatic(owner, name, type));
  }

  /**
   * The first candidate that exists.
   *
   * @throws SluiceException when none does
   */
  MethodHandle found() {
    if (found == null) {
      throw new SluiceException("Spark " + sparkVersion + " has none of the signatures of " + owner.getName()
          + " that Sluice knows (" + String.join(" or ", tried) + "); it has: " + existing()
          + ". Use a Sluice version made for this Spark (this one supports Spark " + supported
          + "), or remove spark.shuffle.manager to run on Spark's own shuffle.");
    }
    return found;
  }

  private Signatures attempt(String name, MethodType type, int passed, Object[] values, Candidate candidate) {
    tried.add(name + type);
    if (found == null) {
      try {
        found = MethodHandles.insertArguments(candidate.find(), passed, values);
      } catch (NoSuchMethodException | IllegalAccessException absent) {
        found = null;
      }
    }
    return this;
  }

  private String existing() {
    List<Executable> executables = new ArrayList<>(Arrays.asList(owner.getConstructors()));
    Arrays.stream(owner.getMethods())
        .filter(method -> tried.stream().anyMatch(name -> name.startsWith(method.getName() + "(")))
        .forEach(executables::add);
    return executables.stream().map(Executable::toString).collect(Collectors.joining("; ", "[", "]"));
  }

  private static List<Class<?>> concat(List<Class<?>> first, List<Class<?>> second) {
    List<Class<?>> all = new ArrayList<>(first);
    all.addAll(second);
    return all;
  }

  private interface Candidate {
    MethodHandle find() throws NoSuchMethodException, IllegalAccessException;
  }
}
