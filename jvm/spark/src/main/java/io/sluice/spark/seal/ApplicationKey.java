package io.sluice.spark.seal;

import io.sluice.spark.SluiceException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import scala.Option;

/**
 * Spark's key for I/O encryption, of which the keys of map outputs are derived. Spark makes a new one for each
 * application, on the driver, and sends it to the executors. Any thread.
 */
public final class ApplicationKey {
  private static final byte[] SALT = "sluice sealed frames 2".getBytes(StandardCharsets.US_ASCII);
  /** Spark's setting. */
  public static final String ENABLED = "spark.io.encryption.enabled";
  private static final int AES_128_BYTES = 16;
  private static final int AES_192_BYTES = 24;
  private static final int AES_256_BYTES = 32;

  private final Hkdf derivation;
  private final int frameKeyBytes;

  /**
   * @param sparksKey 16, 24 or 32 bytes. A key of 24 bytes becomes AES-256 keys, which have no more secret bits then
   * @throws SluiceException when it has another length
   */
  public ApplicationKey(byte[] sparksKey) {
    if (sparksKey.length != AES_128_BYTES && sparksKey.length != AES_192_BYTES && sparksKey.length != AES_256_BYTES) {
      throw new SluiceException("Spark's key for I/O encryption has " + sparksKey.length * Byte.SIZE
          + " bits; set spark.io.encryption.keySizeBits to 128, 192 or 256");
    }
    this.derivation = new Hkdf(SALT, sparksKey);
    this.frameKeyBytes = sparksKey.length == AES_128_BYTES ? AES_128_BYTES : AES_256_BYTES;
  }

  /** Whether an application with this configuration encrypts what it writes to disks. */
  public static boolean isWanted(SparkConf conf) {
    return conf.getBoolean(ENABLED, false);
  }

  /**
   * The key of the application that this process runs tasks of; empty when it does not encrypt.
   *
   * @throws SluiceException when it encrypts and this process was given no key
   */
  public static Optional<ApplicationKey> of(SparkEnv env) {
    if (!isWanted(env.conf())) {
      return Optional.empty();
    }
    Option<byte[]> key = env.securityManager().getIOEncryptionKey();
    if (key.isEmpty()) {
      throw new SluiceException(ENABLED + " is true, but Spark has given executor " + env.executorId()
          + " no key for I/O encryption. Set " + ENABLED + " when the application is started, not later");
    }
    return Optional.of(new ApplicationKey(key.get()));
  }

  /** The keys of one map output. */
  public OutputKeys output(int shuffleId, long mapId) {
    byte[] frames = derivation.expand(OutputKeys.info("frames", shuffleId, mapId), frameKeyBytes);
    byte[] endMarks = derivation.expand(OutputKeys.info("end marks", shuffleId, mapId), OutputKeys.END_MARK_KEY_BYTES);
    return new OutputKeys(shuffleId, mapId, frames, endMarks);
  }
}
