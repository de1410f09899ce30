package io.sluice.spark.record;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The {@link NestedForm}s by their tags. */
final class NestedForms {
  private static final NestedForm[] FORMS = forms();

  private NestedForms() {}

  private static NestedForm[] forms() {
    NestedForm[] forms = new NestedForm[NestedTag.END];
    for (List<NestedForm> some : List.of(ScalaForms.all(), HashForms.all(), JavaForms.all(), ScalarForms.all(),
        WritableForms.all())) {
      for (NestedForm form : some) {
        forms[form.tag()] = form;
      }
    }
    return forms;
  }

  /** The form with a tag; null if there is none. */
  static NestedForm of(int tag) {
    return tag >= 0 && tag < FORMS.length ? FORMS[tag] : null;
  }

  static Map<Class<?>, Integer> tags() {
    Map<Class<?>, Integer> tags = new HashMap<>();
    for (NestedForm form : FORMS) {
      if (form != null) {
        form.classes().forEach(type -> tags.put(type, form.tag()));
      }
    }
    return tags;
  }

  /** The classes of these names that are there. */
  static List<Class<?>> classes(String... names) {
    List<Class<?>> found = new ArrayList<>();
    for (String name : names) {
      try {
        found.add(Class.forName(name));
      } catch (ClassNotFoundException other) {
        // Of another version of Scala.
      }
    }
    return found;
  }

  /** The only object of a class of Scala's library. */
  static Object object(String name) {
    try {
      return Class.forName(name).getField("MODULE$").get(null);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("Scala's library has no " + name, e);
    }
  }

  /** Those of {@link #classes} that Scala has beside {@code outer}, one for each primitive type and one for objects. */
  static List<Class<?>> ofElements(String outer) {
    return classes(Arrays.stream(new String[] {"Ref", "Boolean", "Byte", "Short", "Char", "Int", "Long", "Float",
      "Double"}).map(kind -> outer + "$of" + kind).toArray(String[]::new));
  }
}
