package io.sluice.spark.record;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.Externalizable;
import java.io.IOException;
import java.io.NotSerializableException;
import java.io.ObjectInput;
import java.io.ObjectInputStream;
import java.io.ObjectOutput;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.io.StreamCorruptedException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import org.apache.spark.SparkConf;
import org.apache.spark.serializer.DeserializationStream;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.SerializationStream;
import org.junit.jupiter.api.Test;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Streams with numbered classes give the objects that Spark's streams give. */
class JavaObjectStreamsTest {
  private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Any();

  enum Color { RED, GREEN {} }

  static class Base implements Serializable {
    private static final long serialVersionUID = 1L;
    int base;

    Base(int base) {
      this.base = base;
    }
  }

  /** Writes more than its fields. */
  static final class Derived extends Base {
    private static final long serialVersionUID = 1L;
    final String name;
    private transient int extra;

    Derived(int base, String name) {
      super(base);
      this.name = name;
      this.extra = base * 3;
    }

    private void writeObject(ObjectOutputStream out) throws IOException {
      out.defaultWriteObject();
      out.writeInt(extra);
      out.writeObject(new Base(extra));
    }

    private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
      in.defaultReadObject();
      extra = in.readInt();
      assertEquals(extra, ((Base) in.readObject()).base);
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Derived that && that.base == base && that.name.equals(name) && that.extra == extra;
    }

    @Override
    public int hashCode() {
      return base;
    }
  }

  /** Writes itself. */
  public static final class External implements Externalizable {
    int value;

    @Override
    public void writeExternal(ObjectOutput out) throws IOException {
      out.writeInt(value);
    }

    @Override
    public void readExternal(ObjectInput in) throws IOException {
      value = in.readInt();
    }
  }

  /** Of the interface that a proxy implements. */
  static final class Handler implements InvocationHandler, Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) {
      return method.getReturnType() == int.class ? 42 : null;
    }
  }

  private static JavaSerializer serializer(int reset) {
    return new JavaSerializer(new SparkConf(false).set("spark.serializer.objectStreamReset", Integer.toString(reset)));
  }

  private static byte[] write(JavaSerializer serializer, Object... objects) {
    HeapBytes bytes = new HeapBytes(1);
    try (SerializationStream stream = RecordStreams.of(serializer).write(bytes)) {
      for (Object object : objects) {
        stream.writeObject(object, ANY);
      }
    }
    return Arrays.copyOf(bytes.array(), bytes.size());
  }

  private static HeapInput input(byte[] bytes) {
    return new HeapInput(bytes, bytes.length);
  }

  private static List<Object> roundTrip(JavaSerializer serializer, Object... objects) {
    List<Object> back = new ArrayList<>();
    try (DeserializationStream stream = RecordStreams.of(serializer)
        .read(input(write(serializer, objects)))) {
      for (int i = 0; i < objects.length; i++) {
        back.add(stream.readObject(ANY));
      }
    }
    return back;
  }

  private static Object[] objects(int count) {
    Object[] objects = new Object[count];
    for (int i = 0; i < count; i++) {
      objects[i] = switch (i % 7) {
        case 0 -> new Derived(i, "name " + i);
        case 1 -> Color.values()[i % 2];
        case 2 -> LocalDate.of(2020, 1, 1).plusDays(i);
        case 3 -> new TreeMap<>(java.util.Map.of("a" + i, new Derived(i, "b")));
        case 4 -> List.of(i, "text", 3L);
        case 5 -> "text " + i;
        default -> i % 2 == 0 ? null : Color.GREEN;
      };
    }
    return objects;
  }

  @Test
  void objectsOfManyKindsRoundTripAtEveryReset() {
    for (int reset : new int[] {-1, 1, 2, 7, 100}) {
      Object[] objects = objects(1000);
      assertEquals(Arrays.asList(objects), roundTrip(serializer(reset), objects));
    }
  }

  @Test
  void arraysExternalsClassesAndProxies() {
    External external = new External();
    external.value = 5;
    Comparable<?> proxy = (Comparable<?>) Proxy.newProxyInstance(getClass().getClassLoader(),
        new Class<?>[] {Comparable.class}, new Handler());
    for (int reset : new int[] {-1, 1}) {
      List<Object> back = roundTrip(serializer(reset), new int[] {1, 2}, external, int.class, Derived.class, proxy,
          new Object[] {1, new Derived(1, "x")}, external, void.class, proxy);
      assertArrayEquals(new int[] {1, 2}, (int[]) back.get(0));
      assertEquals(5, ((External) back.get(1)).value);
      assertSame(int.class, back.get(2));
      assertSame(Derived.class, back.get(3));
      assertTrue(Proxy.isProxyClass(back.get(4).getClass()));
      assertArrayEquals(new Object[] {1, new Derived(1, "x")}, (Object[]) back.get(5));
      assertEquals(5, ((External) back.get(6)).value);
      assertSame(void.class, back.get(7));
    }
  }

  @Test
  void objectsAreSharedBetweenResets() {
    Base base = new Base(1);
    List<Object> back = roundTrip(serializer(2), base, new Object[] {base, base}, base);
    assertSame(back.get(0), ((Object[]) back.get(1))[0]);
    assertSame(back.get(0), ((Object[]) back.get(1))[1]);
    assertNotSame(back.get(0), back.get(2));
  }

  @Test
  void classesAreDescribedOncePerStream() {
    int one = write(serializer(1), new Derived(1, "x")).length;
    int hundred = write(serializer(1), Arrays.stream(new int[100]).mapToObj(i -> new Derived(i, "x")).toArray()).length;
    assertTrue(hundred < one + 100 * 60, () -> one + " bytes for one object, " + hundred + " for a hundred");
  }

  @Test
  void anObjectThatIsNotSerializableFailsAsInSpark() {
    JavaSerializer serializer = serializer(100);
    Object[] bad = {new Derived(1, "x"), new Object[] {1, new Object()}};
    Exception stock = assertThrows(NotSerializableException.class, () -> {
      SerializationStream stream = serializer.newInstance().serializeStream(new HeapBytes(1));
      stream.writeObject(bad[1], ANY);
    });
    Exception ours = assertThrows(NotSerializableException.class, () -> write(serializer, bad));
    assertEquals(stock.getMessage(), ours.getMessage());
  }

  @Test
  void aDamagedNumberOfAClassIsAnError() {
    byte[] bytes = write(serializer(1), new Base(1), new Base(2));
    for (int i = bytes.length - 1; i > 0; i--) {
      if (bytes[i] == java.io.ObjectStreamConstants.TC_CLASSDESC) {
        bytes[i + 2] = 9;
        break;
      }
    }
    DeserializationStream stream = RecordStreams.of(serializer(1)).read(input(bytes));
    stream.readObject(ANY);
    assertThrows(StreamCorruptedException.class, () -> stream.readObject(ANY));
  }
}
