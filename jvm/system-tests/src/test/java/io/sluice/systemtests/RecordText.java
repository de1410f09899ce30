package io.sluice.systemtests;

import java.lang.reflect.Array;
import scala.Product;

/** Any key or value as text: its class and the classes of its parts, and what arrays hold. */
final class RecordText {
  private RecordText() {}

  static String of(Object value) {
    if (value == null) {
      return "null";
    }
    StringBuilder text = new StringBuilder(value.getClass().getName());
    if (value.getClass().isArray()) {
      for (int i = 0; i < Array.getLength(value); i++) {
        text.append(i == 0 ? ": " : ", ").append(of(Array.get(value, i)));
      }
      return text.append(';').toString();
    }
    // Scala's lists are products too, of their first element and the rest.
    if (value instanceof Product product && !(value instanceof scala.collection.Iterable<?>)) {
      for (int i = 0; i < product.productArity(); i++) {
        text.append(i == 0 ? "(" : ", ").append(of(product.productElement(i)));
      }
      return text.append(product.productArity() == 0 ? "" : ")").toString();
    }
    return text.append(' ').append(value).toString();
  }
}
