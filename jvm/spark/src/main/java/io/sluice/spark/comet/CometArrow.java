package io.sluice.spark.comet;

import io.sluice.spark.SluiceException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Comet's own code that writes rows to Arrow's vectors ({@code ArrowWriter}), which shades Arrow. The vectors' memory
 * is Comet's allocator's, as that of all its batches. One thread at a time.
 */
final class CometArrow {
  private static final String WRITERS = "org.apache.spark.sql.comet.execution.arrow.ArrowWriter";
  private static final String UTILS = "org.apache.spark.sql.comet.util.Utils";
  private static final String NATIVE_UTIL = "org.apache.comet.vector.NativeUtil";
  private static final String PACKAGE = "org.apache.comet.package";
  private static final String ROOT = "org.apache.comet.shaded.arrow.vector.VectorSchemaRoot";
  /** Comet has Spark's timestamps in it, whatever the session's time zone. */
  private static final String TIME_ZONE = "UTC";

  private final Object schema;
  private final Object allocator;
  private final MethodHandle newRoot;
  private final MethodHandle newWriter;
  private final MethodHandle write;
  private final MethodHandle finish;
  private final MethodHandle batchOf;
  private final MethodHandle closeRoot;

  /** @param comets the loader of Comet's classes */
  CometArrow(ClassLoader comets, StructType types) {
    try {
      MethodHandles.Lookup lookup = MethodHandles.publicLookup();
      Class<?> root = Class.forName(ROOT, true, comets);
      Class<?> writer = Class.forName(WRITERS, true, comets);
      Method toSchema = module(comets, UTILS).getClass().getMethod("toArrowSchema", StructType.class, String.class);
      schema = toSchema.invoke(module(comets, UTILS), types, TIME_ZONE);
      Object packaged = module(comets, PACKAGE);
      allocator = packaged.getClass().getMethod("CometArrowAllocator").invoke(packaged);
      Method create = Arrays.stream(root.getMethods()).filter(method -> method.getName().equals("create")
          && method.getParameterCount() == 2 && method.getParameterTypes()[0].isInstance(schema)
          && method.getParameterTypes()[1].isInstance(allocator)).findFirst()
          .orElseThrow(() -> new NoSuchMethodException(ROOT + ".create"));
      newRoot = objects(lookup.unreflect(create));
      closeRoot = objects(lookup.unreflect(root.getMethod("close")));
      Object writers = module(comets, WRITERS);
      newWriter = objects(lookup.unreflect(writers.getClass().getMethod("create", root)).bindTo(writers));
      write = objects(lookup.unreflect(writer.getMethod("write", InternalRow.class)));
      finish = objects(lookup.unreflect(writer.getMethod("finish")));
      Object nativeUtil = module(comets, NATIVE_UTIL);
      batchOf = objects(lookup.unreflect(nativeUtil.getClass().getMethod("rootAsBatch", root)).bindTo(nativeUtil));
    } catch (ReflectiveOperationException | LinkageError e) {
      throw new SluiceException("Comet's Arrow writer for " + types.simpleString() + " is not as in Comet "
          + CometSession.KNOWN + "; set spark.sluice.comet=false with another version", e);
    }
  }

  /** Scala's object of that name. */
  private static Object module(ClassLoader comets, String name) throws ReflectiveOperationException {
    return Class.forName(name + "$", true, comets).getField("MODULE$").get(null);
  }

  /** The same with objects as arguments and result. */
  private static MethodHandle objects(MethodHandle handle) {
    MethodType type = handle.type();
    MethodType erased = type.returnType() == void.class ? type.generic().changeReturnType(void.class) : type.generic();
    return handle.asType(erased);
  }

  /** A batch without rows, with buffers of its own. */
  Batch newBatch() {
    return new Batch();
  }

  /** Rows that become a batch; closing one that has not become one frees its vectors. */
  final class Batch implements AutoCloseable {
    private final Object root;
    private final Object writer;
    private boolean finished;

    private Batch() {
      try {
        root = newRoot.invoke(schema, allocator);
      } catch (Throwable e) {
        throw failed(e);
      }
      try {
        writer = newWriter.invoke(root);
      } catch (Throwable e) {
        close();
        throw failed(e);
      }
    }

    /** Copies a row. */
    void add(InternalRow row) {
      try {
        write.invoke(writer, (Object) row);
      } catch (Throwable e) {
        throw failed(e);
      }
    }

    /** The batch, whose vectors are freed when it is closed. */
    ColumnarBatch finish() {
      try {
        finish.invoke(writer);
        ColumnarBatch batch = (ColumnarBatch) batchOf.invoke(root);
        finished = true;
        return batch;
      } catch (Throwable e) {
        throw failed(e);
      }
    }

    @Override
    public void close() {
      if (!finished) {
        finished = true;
        try {
          closeRoot.invoke(root);
        } catch (Throwable e) {
          throw failed(e);
        }
      }
    }
  }

  private static RuntimeException failed(Throwable e) {
    if (e instanceof RuntimeException known) {
      return known;
    }
    if (e instanceof Error error) {
      throw error;
    }
    return new SluiceException("Comet's Arrow writer failed", e);
  }
}
