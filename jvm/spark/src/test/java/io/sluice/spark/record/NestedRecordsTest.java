package io.sluice.spark.record;

import static io.sluice.spark.record.NestedValues.assertSameValue;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import com.esotericsoftware.kryo.serializers.BlowfishSerializer;
import com.esotericsoftware.kryo.serializers.DefaultArraySerializers;
import com.esotericsoftware.kryo.serializers.DeflateSerializer;
import com.esotericsoftware.kryo.serializers.FieldSerializer;
import io.sluice.spark.SluiceException;
import java.io.IOException;
import java.io.InputStream;
import java.io.Serializable;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.spark.SparkConf;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.KryoRegistrator;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.collection.CompactBuffer;
import org.junit.jupiter.api.Test;
import scala.Option;
import scala.Some;
import scala.Tuple2;
import scala.Tuple3;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Nested values come back as Spark's serializers give them back, or stay with the serializer. */
class NestedRecordsTest {
  private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Any();
  private static final SparkConf CONF = new SparkConf(false).set("spark.kryoserializer.buffer.max", "64m");
  private static final Serializer JAVA = new JavaSerializer(CONF);
  private static final Serializer KRYO = new KryoSerializer(CONF);
  private static final RecordEncoder OF_JAVA = RecordEncoder.of(JAVA, true);
  private static final RecordEncoder OF_KRYO = RecordEncoder.of(KRYO, true);
  private static final RecordDecoder DECODER = new RecordDecoder();

  /** As a case class is: a class of the job's. */
  static final class Sale implements Serializable {
    private static final long serialVersionUID = 1L;
  }

  private static UnsafeRow row(RecordEncoder encoder) {
    UnsafeRow row = new UnsafeRow(encoder.fields());
    row.pointTo(Arrays.copyOf(encoder.buffer(), encoder.length()), Platform.BYTE_ARRAY_OFFSET, encoder.length());
    return row;
  }

  private static Tuple2<Object, Object> roundTrip(RecordEncoder encoder, Object key, Object value) {
    assertTrue(encoder.encode(key, value), () -> key + " and " + value);
    assertEquals(0, encoder.length() % 8);
    return DECODER.decode(row(encoder));
  }

  private static Object stock(Serializer serializer, Object value) {
    SerializerInstance instance = serializer.newInstance();
    return instance.deserialize(instance.serialize(value, ANY), ANY);
  }

  private static void assertAsStock(Serializer serializer, RecordEncoder encoder, Object key, Object value) {
    Tuple2<Object, Object> back = roundTrip(encoder, key, value);
    assertSameValue(stock(serializer, key), back._1());
    assertSameValue(stock(serializer, value), back._2());
  }

  @Property(tries = 500)
  void randomValuesAreAsFromJavasSerializer(@ForAll long seed) {
    NestedValues values = new NestedValues(seed, false);
    assertAsStock(JAVA, OF_JAVA, values.value(3), values.value(3));
  }

  @Property(tries = 500)
  void randomValuesAreAsFromKryo(@ForAll long seed) {
    NestedValues values = new NestedValues(seed, true);
    assertAsStock(KRYO, OF_KRYO, values.value(3), values.value(3));
  }

  /** An object of each class that has a tag, but of those that are another in Scala 2.12. */
  private static List<Object> samples() {
    List<Object> samples = new ArrayList<>();
    for (int tag = 2; tag < NestedTag.END; tag++) {
      if (tag >= NestedTag.ARRAY) {
        NestedForm form = NestedForms.of(tag);
        assertFalse(form.classes().isEmpty(), "tag " + tag);
        for (Class<?> type : form.classes()) {
          assertSame(type, form.sample(type).getClass());
          samples.add(form.sample(type));
        }
      } else if (tag != NestedTag.FALSE && tag != NestedTag.UTF16) {
        samples.add(NestedClasses.sample(tag, scala.Tuple2$mcIJ$sp.class));
        assertEquals(tag, NestedTag.of(samples.get(samples.size() - 1)));
      }
    }
    return samples;
  }

  @Test
  void everyClassIsWrittenUnlessTheSerializerRefusesIt() {
    for (Object sample : samples()) {
      assertEquals(!(sample instanceof Writable), OF_JAVA.encode(1, new Some<>(sample)),
          () -> "Java: " + sample.getClass());
      assertTrue(OF_KRYO.encode(1, new Some<>(sample)), () -> "Kryo: " + sample.getClass());
      assertAsStock(KRYO, OF_KRYO, 1, sample);
      if (!(sample instanceof Writable) && !(sample instanceof Writable[])) {
        assertAsStock(JAVA, OF_JAVA, sample, 1);
      }
    }
  }

  @Test
  void classesOfTheJobAndOtherClassesAreSerialized() {
    for (Object other : new Object[] {new Sale(), new int[0][][], new Sale[] {new Sale()},
      new StringBuilder(), new java.util.TreeSet<>(),
      java.util.List.of(1), new Thread()}) {
      for (Object within : new Object[] {other, new Some<>(other), new Tuple3<>(1, 2, other),
        new Tuple2<>(1, other), new Object[] {other}}) {
        assertFalse(OF_JAVA.encode(within, 1));
        assertFalse(OF_JAVA.encode(1, within));
        assertFalse(OF_KRYO.encode(1, within));
      }
    }
  }

  @Test
  void anObjectThatARecordHasTwiceIsLeftToTheSerializer() {
    int[] array = {1};
    Object list = Sequences.list(new Object[] {1});
    for (Object twice : new Object[] {array, list, "x".repeat(1000), new Some<>(1)}) {
      assertFalse(OF_JAVA.encode(1, new Tuple2<>(new Some<>(twice), new Some<>(twice))));
      assertFalse(OF_KRYO.encode(1, new Tuple3<>(1, twice, twice)));
      if (!(twice instanceof String)) {
        assertFalse(OF_JAVA.encode(twice, new Some<>(twice)), "Java's streams share objects of key and value");
        assertTrue(OF_KRYO.encode(twice, new Some<>(twice)), "Kryo's do not");
      }
    }
    byte[] bytes = {1};
    assertFalse(OF_JAVA.encode(1, new Tuple2<>(bytes, new Some<>(bytes))));
    assertFalse(OF_JAVA.encode(1, new Tuple2<>(bytes, bytes)));
    assertFalse(OF_KRYO.encode(new Tuple2<>(bytes, bytes), 1));
    assertFalse(OF_JAVA.encode(bytes, new Tuple2<>(1, bytes)));
    assertTrue(OF_JAVA.encode(bytes, new Tuple2<>(bytes.clone(), bytes.clone())));
    Object[] itself = {null};
    itself[0] = itself;
    assertFalse(OF_JAVA.encode(1, itself));
    Object[] many = new Random(1).ints(1000).mapToObj(Some::new).toArray();
    assertTrue(OF_JAVA.encode(1, many));
    many[990] = many[17];
    assertFalse(OF_JAVA.encode(1, many));
    Object empty = Sequences.vector(new Object[0]);
    assertAsStock(JAVA, OF_JAVA, new Tuple2<>(empty, empty), empty);
    assertTrue(OF_JAVA.encode(1, new Object[] {"short", "short", 5, 5, Option.empty(), Option.empty()}));
  }

  private static Object nested(int depth) {
    return depth == 0 ? 1 : new Some<>(nested(depth - 1));
  }

  @Test
  void depthAndSizeHaveLimits() {
    assertSameValue(nested(NestedTag.MOST_DEPTH), roundTrip(OF_JAVA, 1, nested(NestedTag.MOST_DEPTH))._2());
    assertFalse(OF_JAVA.encode(1, nested(NestedTag.MOST_DEPTH + 1)));
    int[] large = new int[(RecordEncoder.MAX_ROW_BYTES - 1024) / Integer.BYTES];
    assertSameValue(large, roundTrip(OF_JAVA, 1, large)._2());
    assertFalse(OF_JAVA.encode(1, new int[RecordEncoder.MAX_ROW_BYTES / Integer.BYTES]));
    assertFalse(OF_JAVA.encode(1, new Tuple2<>(new Some<>(large), new Some<>(new int[512]))));
    assertFalse(OF_JAVA.encode(1, new Some<>("x".repeat(RecordEncoder.MAX_ROW_BYTES))));
    assertFalse(OF_JAVA.encode(1, new Some<>("\u1234".repeat(RecordEncoder.MAX_ROW_BYTES / 2))));
    assertFalse(OF_JAVA.encode(1, new Some<>(BigInteger.ONE.shiftLeft(8 * RecordEncoder.MAX_ROW_BYTES))));
    assertTrue(OF_JAVA.encode(1, new Some<>(1)));
  }

  @Test
  void pairsOfEverySpecializedClass() throws ReflectiveOperationException {
    Map<Character, Object> parts = Map.of('I', -5, 'J', 1L << 40, 'D', 0.5, 'C', '\u0416', 'Z', true);
    for (Map.Entry<Character, Object> first : parts.entrySet()) {
      for (Map.Entry<Character, Object> second : parts.entrySet()) {
        Object pair = Class.forName("scala.Tuple2$mc" + first.getKey() + second.getKey() + "$sp").getConstructors()[0]
            .newInstance(first.getValue(), second.getValue());
        assertAsStock(JAVA, OF_JAVA, pair, new Some<>(pair));
        assertAsStock(KRYO, OF_KRYO, pair, new Some<>(pair));
        assertAsStock(KRYO, OF_KRYO, 1, pair);
      }
    }
  }

  @Test
  void vectorsOfEveryLevel() {
    for (int length : new int[] {0, 1, 31, 32, 33, 1023, 1025, 33_000}) {
      Object vector = Sequences.vector(new Random(1).ints(length).boxed().toArray());
      assertAsStock(JAVA, OF_JAVA, 1, vector);
      assertAsStock(KRYO, OF_KRYO, 1, vector);
    }
  }

  @Test
  void writablesAreRefusedByJavasSerializerAndGivenBackByKryos() {
    assertFalse(OF_JAVA.encode(new Text("a"), 1));
    assertThrows(Exception.class, () -> stock(JAVA, new Text("a")));
    assertAsStock(KRYO, OF_KRYO, new Text("a\u1234"), new Text());
  }

  /** Registers a serializer of its own for a class that Sluice knows. */
  public static final class Registrator implements KryoRegistrator {
    @Override
    public void registerClasses(Kryo kryo) {
      kryo.register(Text.class, new com.esotericsoftware.kryo.Serializer<Text>() {
        @Override
        public void write(Kryo same, Output output, Text text) {
          output.writeString("encrypted " + text);
        }

        @Override
        public Text read(Kryo same, Input input, Class<Text> type) {
          return new Text(input.readString().substring("encrypted ".length()));
        }
      });
    }
  }

  /** Registers a serializer of its own for flat parts. */
  public static final class LongRegistrator implements KryoRegistrator {
    @Override
    public void registerClasses(Kryo kryo) {
      kryo.register(Long.class, new com.esotericsoftware.kryo.Serializer<Long>() {
        @Override
        public void write(Kryo same, Output output, Long number) {
          output.writeLong(~number);
        }

        @Override
        public Long read(Kryo same, Input input, Class<Long> type) {
          return ~input.readLong();
        }
      });
    }
  }

  /** Encrypts what Kryo would write of some classes, with a serializer of Kryo's. */
  public static final class BlowfishRegistrator implements KryoRegistrator {
    private static final byte[] SECRET = "sixteen letters.".getBytes(StandardCharsets.US_ASCII);

    @Override
    public void registerClasses(Kryo kryo) {
      kryo.register(IntWritable.class,
          new BlowfishSerializer(new FieldSerializer<>(kryo, IntWritable.class), SECRET));
      kryo.register(int[].class, new DeflateSerializer(new DefaultArraySerializers.IntArraySerializer()));
    }
  }

  /** As {@link BlowfishRegistrator}, of byte arrays, which {@link Text} has as a field. */
  public static final class BytesRegistrator implements KryoRegistrator {
    @Override
    public void registerClasses(Kryo kryo) {
      kryo.register(byte[].class,
          new BlowfishSerializer(new DefaultArraySerializers.ByteArraySerializer(), BlowfishRegistrator.SECRET));
    }
  }

  /** Registers a serializer of its own for one class of specialized pairs, of those that Spark does not register. */
  public static final class PairsRegistrator implements KryoRegistrator {
    @Override
    public void registerClasses(Kryo kryo) {
      Class<?> type = scala.Tuple2$mcCI$sp.class;
      kryo.register(type, new DeflateSerializer(new FieldSerializer<>(kryo, type)));
    }
  }

  /** Registers serializers of its own for arrays that other classes have as fields. */
  public static final class ArraysRegistrator implements KryoRegistrator {
    @Override
    public void registerClasses(Kryo kryo) {
      kryo.register(Object[].class,
          new BlowfishSerializer(new DefaultArraySerializers.ObjectArraySerializer(kryo, Object[].class),
              BlowfishRegistrator.SECRET));
      kryo.register(int[].class, new DeflateSerializer(new DefaultArraySerializers.IntArraySerializer()));
    }
  }

  /** Registers classes without a serializer, as most registrators do. */
  public static final class NamesRegistrator implements KryoRegistrator {
    @Override
    public void registerClasses(Kryo kryo) {
      for (Class<?> type : new Class<?>[] {Sale.class, Text.class, Thread.class, Integer[].class, int[].class}) {
        kryo.register(type);
      }
      kryo.setReferences(false);
    }
  }

  private static Serializer kryo(Class<? extends KryoRegistrator> registrator) {
    return new KryoSerializer(CONF.clone().set("spark.kryo.registrator", registrator.getName()));
  }

  private static RecordEncoder encoder(Serializer serializer) {
    return RecordEncoder.of(serializer, ShuffleSerializers.rowsMayReplace(serializer));
  }

  @Test
  void kryosRegistrationsAreHonoured() {
    RecordEncoder own = encoder(kryo(Registrator.class));
    assertFalse(own.encode(new Text("a"), 1));
    assertTrue(own.encode(1, new Some<>("a")));
    assertTrue(ShuffleSerializers.rowsMayReplace(KRYO));
    assertTrue(ShuffleSerializers.rowsMayReplace(JAVA));
    assertTrue(ShuffleSerializers.rowsMayReplace(kryo(Registrator.class)));
    assertFalse(ShuffleSerializers.rowsMayReplace(kryo(LongRegistrator.class)));
    Serializer strict = new KryoSerializer(new SparkConf(false).set("spark.kryo.registrationRequired", "true"));
    RecordEncoder ofStrict = encoder(strict);
    assertFalse(ofStrict.encode(new Text("a"), 1));
    assertFalse(ofStrict.encode(new Text("b"), 1));
    assertThrows(Exception.class, () -> stock(strict, new Text("a")));
    assertTrue(ofStrict.encode(1, new Some<>("a")));
    assertNotNull(stock(strict, new Some<>("a")));
  }

  /** Of Scala's specialized pairs, Spark registers some. */
  @Test
  void registrationsOfSpecializedPairsAreHonoured() {
    Serializer strict = new KryoSerializer(new SparkConf(false).set("spark.kryo.registrationRequired", "true"));
    RecordEncoder ofStrict = encoder(strict);
    Object known = new scala.Tuple2$mcIJ$sp(1, 2);
    Object unknown = new scala.Tuple2$mcCI$sp('a', 1);
    assertNotNull(stock(strict, known));
    assertThrows(Exception.class, () -> stock(strict, unknown));
    assertTrue(ofStrict.encode(known, known));
    assertFalse(ofStrict.encode(unknown, 1));
    assertFalse(ofStrict.encode(1, unknown));
    assertFalse(ofStrict.encode(1, new Some<>(unknown)));
    RecordEncoder own = encoder(kryo(PairsRegistrator.class));
    assertTrue(own.encode(1, known));
    assertTrue(own.encode(1, new scala.Tuple2$mcCC$sp('a', 'b')));
    assertFalse(own.encode(unknown, 1));
    assertFalse(own.encode(1, new Some<>(unknown)));
  }

  private static CompactBuffer<Object> buffer(Class<?> type, Object... elements) {
    CompactBuffer<Object> buffer = new CompactBuffer<>(ClassTag$.MODULE$.apply(type));
    for (Object element : elements) {
      buffer.$plus$eq(element);
    }
    return buffer;
  }

  /** A buffer keeps its third element and those behind it in an array. */
  @Test
  void registrationsOfArraysWithinBuffersAreHonoured() {
    RecordEncoder own = encoder(kryo(ArraysRegistrator.class));
    assertFalse(own.encode(1, buffer(Object.class, "a", "b", "c")));
    assertFalse(own.encode(1, buffer(int.class, 1, 2, 3)));
    assertTrue(own.encode(1, buffer(String.class, "a", "b", "c")));
    assertTrue(OF_KRYO.encode(1, buffer(Object.class, "a", "b", "c")));
  }

  @Test
  void serializersOfKryosThatEncryptOrCompressAreHonoured() {
    RecordEncoder blowfish = encoder(kryo(BlowfishRegistrator.class));
    assertFalse(blowfish.encode(new IntWritable(1), 1));
    assertFalse(blowfish.encode(1, new Some<>(new int[] {1})));
    assertTrue(blowfish.encode(1, new Some<>(new long[] {1})));
    RecordEncoder ofBytes = encoder(kryo(BytesRegistrator.class));
    assertFalse(ofBytes.encode(new Text("a"), 1));
    assertFalse(ofBytes.encode(1, new Some<>(new BytesWritable(new byte[] {1}))));
    assertFalse(ofBytes.encode(1, new Some<>(new byte[] {1})));
    assertFalse(ShuffleSerializers.rowsMayReplace(kryo(BytesRegistrator.class)));
  }

  @Test
  void registeredNamesChangeNothing() {
    Serializer names = kryo(NamesRegistrator.class);
    assertTrue(ShuffleSerializers.rowsMayReplace(names));
    RecordEncoder ofNames = encoder(names);
    for (Object sample : samples()) {
      assertTrue(ofNames.encode(1, new Some<>(sample)), () -> "" + sample.getClass());
    }
  }

  @Test
  void damagedBytesAreAnErrorOfThatName() {
    Random random = new Random(7);
    for (int i = 0; i < 20_000; i++) {
      NestedValues values = new NestedValues(i % 200, true);
      if (!OF_KRYO.encode(1, new Some<>(values.value(3)))) {
        continue;
      }
      UnsafeRow row = row(OF_KRYO);
      byte[] bytes = (byte[]) row.getBaseObject();
      int from = 8 + 8 * OF_KRYO.fields();
      bytes[from + random.nextInt(bytes.length - from)] = (byte) random.nextInt();
      bytes[from + random.nextInt(Math.min(8, bytes.length - from))] = (byte) random.nextInt();
      try {
        DECODER.decode(row);
      } catch (SluiceException e) {
        assertTrue(e.getMessage().contains("nested part"), e::getMessage);
      }
    }
  }

  /** A record whose value is a nested part of these bytes, and zeros. */
  private static void assertDamaged(int length, int... nested) {
    assertTrue(OF_KRYO.encode(1, new Some<>("x".repeat(length))));
    UnsafeRow row = row(OF_KRYO);
    byte[] bytes = (byte[]) row.getBaseObject();
    int from = 8 + 8 * OF_KRYO.fields();
    Arrays.fill(bytes, from, bytes.length, (byte) 0);
    for (int i = 0; i < nested.length; i++) {
      bytes[from + i] = (byte) nested[i];
    }
    SluiceException damaged = assertThrows(SluiceException.class, () -> DECODER.decode(row));
    assertTrue(damaged.getMessage().contains("nested part"), damaged::getMessage);
  }

  @Test
  void damagedBytesNeitherRecurseNorAllocate() {
    assertDamaged(500_000, IntStream.generate(() -> NestedTag.ARRAY_SEQ).limit(400_000).toArray());
    assertDamaged(500_000, IntStream.generate(() -> NestedTag.MUTABLE_ARRAY_SEQ).limit(400_000).toArray());
    // A table of 2^20, and no or one element.
    assertDamaged(20, NestedTag.MUTABLE_HASH_SET, 0x80, 0x80, 0x40, 0);
    assertDamaged(20, NestedTag.MUTABLE_HASH_MAP, 0x80, 0x80, 0x40, 2, NestedTag.NULL, NestedTag.NULL);
    assertDamaged(20, NestedTag.JAVA_HASH_SET, 0x80, 0x80, 0x40, 1, NestedTag.NULL);
    assertDamaged(20, NestedTag.JAVA_HASH_MAP, 0x80, 0x80, 0x40, 2, NestedTag.NULL, NestedTag.NULL);
  }

  /** Tags and codes of classes are stored in frames. */
  @Test
  void formsAreWrittenAsEver() throws IOException {
    StringBuilder forms = new StringBuilder();
    for (Object sample : samples()) {
      assertTrue(OF_KRYO.encode(1, new Some<>(sample)));
      int from = 8 + 8 * OF_KRYO.fields();
      forms.append(sample.getClass().getTypeName()).append(' ')
          .append(HexFormat.of().formatHex(OF_KRYO.buffer(), from, OF_KRYO.length())).append('\n');
    }
    for (int code = 0; code < ElementClass.count(); code++) {
      forms.append("elements ").append(code).append(' ').append(ElementClass.of(code).getTypeName()).append('\n');
    }
    try (InputStream golden = NestedRecordsTest.class.getResourceAsStream("/nested-forms.txt")) {
      assertEquals(new String(golden.readAllBytes(), StandardCharsets.UTF_8), forms.toString());
    }
  }

  private static RowKey keyOf(RecordEncoder encoder, Object key) {
    assertTrue(encoder.encode(key, 1));
    UnsafeRow row = row(encoder);
    RowKey rowKey = new RowKey();
    rowKey.pointTo(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes());
    return rowKey;
  }

  @Test
  void keysHaveThePartsOfTheirElements() {
    RowKey key = keyOf(OF_JAVA, new Tuple2<>(1, new Tuple3<>("a", new Tuple2<>(2L, "\u0416"), true)));
    assertTrue(key.hasParts());
    assertEquals(5, key.structure().parts());
    assertEquals(List.of(KeyPart.Kind.INTEGER, KeyPart.Kind.LATIN1, KeyPart.Kind.LONG, KeyPart.Kind.UTF16,
        KeyPart.Kind.BOOLEAN), IntStream.range(0, 5).mapToObj(i -> key.part(i).kind()).toList());
    assertEquals(new Tuple2<>(1, new Tuple3<>("a", new Tuple2<>(2L, "\u0416"), true)), key.object());
    assertTrue(keyOf(OF_JAVA, new scala.Tuple2$mcII$sp(1, 2)).has(keyOf(OF_JAVA, new Tuple2<>(1, 2)).structure()));
    assertFalse(keyOf(OF_JAVA, new Tuple3<>(1, 2, 3)).has(keyOf(OF_JAVA, new Tuple2<>(1, 2)).structure()));
    assertFalse(keyOf(OF_JAVA, new Tuple2<>(1, new Tuple2<>(2, 3)))
        .has(keyOf(OF_JAVA, new Tuple2<>(new Tuple2<>(1, 2), 3)).structure()));
    assertFalse(keyOf(OF_KRYO, new Text("a")).has(keyOf(OF_KRYO, new byte[] {1}).structure()));
    assertEquals(1, keyOf(OF_JAVA, 5).structure().parts());
  }

  @Test
  void keysOfOtherClassesHaveNoParts() {
    for (Object key : new Object[] {new Some<>(1), new Tuple2<>(1, null), new Tuple3<>(1, new int[0], 2),
      new Object[] {1}, scala.runtime.BoxedUnit.UNIT, new Tuple2<>(Option.empty(), 1)}) {
      assertFalse(keyOf(OF_JAVA, key).hasParts());
    }
    assertTrue(keyOf(OF_JAVA, null).isNull());
    assertFalse(keyOf(OF_JAVA, null).hasParts());
  }
}
