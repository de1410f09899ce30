package io.sluice.spark.seal;

import io.sluice.nativebridge.FrameHeader;
import io.sluice.spark.SluiceException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32C;
import javax.crypto.Cipher;

/**
 * Seals the frames of one map output. A nonce is this sealer's random number, so that two sealers with one key differ,
 * and the number of the frame among those that it was asked to seal; no number is used twice, also when the frame is
 * thrown away. Any thread.
 */
public final class FrameSealer {
  static final long MAX_FRAMES = 1L << 32;
  /** The longest array of every JVM. */
  private static final long MAX_ARRAY_BYTES = Integer.MAX_VALUE - 8;
  private static final SecureRandom RANDOM = new SecureRandom();

  private final OutputKeys keys;
  private final long id = newId();
  private final AtomicLong frames;

  public FrameSealer(OutputKeys keys) {
    this(keys, 0);
  }

  FrameSealer(OutputKeys keys, long firstFrame) {
    this.keys = keys;
    this.frames = new AtomicLong(firstFrame);
  }

  /** A random number for a sealer. */
  public static long newId() {
    return RANDOM.nextLong();
  }

  /** The keys of the map output. */
  public OutputKeys keys() {
    return keys;
  }

  /**
   * Begins to seal a frame of {@code partition}.
   *
   * @param plain the frame's header as it would be without a seal; the checksum does not matter
   * @throws SluiceException when its payload is too long to be opened, or too many frames were sealed
   */
  public Frame start(FrameHeader plain, int partition) {
    if (plain.encodedBytes() + FrameHeader.SEAL_BYTES > MAX_ARRAY_BYTES) {
      throw new SluiceException("rows of " + plain.decodedBytes() + " bytes cannot be encrypted as one frame: readers "
          + "hold a sealed payload in one array, which is at most " + MAX_ARRAY_BYTES
          + " bytes long. Make the row smaller, or set spark.io.encryption.enabled to false");
    }
    long number = frames.getAndIncrement();
    if (number < 0 || number >= MAX_FRAMES) {
      frames.set(MAX_FRAMES);
      throw new SluiceException("a map task has sealed " + MAX_FRAMES + " frames; use more, smaller map tasks");
    }
    return new Frame(keys, plain, partition, ByteBuffer.allocate(OutputKeys.NONCE_BYTES).order(ByteOrder.LITTLE_ENDIAN)
        .putLong(id).putInt((int) number).array());
  }

  /** A frame whose payload is being sealed, from its start to its end. One thread. */
  public static final class Frame {
    /** What the result of a call may be longer than the bytes that it was given. */
    public static final int MOST_EXTRA_BYTES = FrameHeader.SEAL_BYTES + 16;

    private final FrameHeader header;
    private final int partition;
    private final byte[] nonce;
    private final Cipher cipher;
    private final CRC32C checksum = new CRC32C();
    private byte[] seal;

    private Frame(OutputKeys keys, FrameHeader plain, int partition, byte[] nonce) {
      this.header = plain.sealed(0);
      this.partition = partition;
      this.nonce = nonce;
      try {
        this.cipher = keys.cipher(Cipher.ENCRYPT_MODE, nonce, header, partition);
      } catch (GeneralSecurityException e) {
        throw OutputKeys.noCipher(e);
      }
    }

    /**
     * Seals the next {@code count} bytes of the payload.
     *
     * @param target where the next bytes of the frame go; it has {@link #MOST_EXTRA_BYTES} of room more
     * @return how many went there, never more in all than were given
     */
    public int update(byte[] payload, int count, byte[] target) {
      try {
        int made = cipher.update(payload, 0, count, target, 0);
        checksum.update(target, 0, made);
        return made;
      } catch (GeneralSecurityException e) {
        throw OutputKeys.noCipher(e);
      }
    }

    /**
     * Ends the payload: the rest of the frame, whose last bytes are the seal. Some security providers give out nothing
     * before, then this is the whole payload.
     */
    public byte[] finish() {
      try {
        byte[] last = cipher.doFinal();
        byte[] rest = ByteBuffer.allocate(last.length + nonce.length + Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN)
            .put(last).put(nonce).putInt(partition).array();
        checksum.update(rest, 0, rest.length);
        seal = Arrays.copyOfRange(rest, rest.length - FrameHeader.SEAL_BYTES, rest.length);
        return rest;
      } catch (GeneralSecurityException e) {
        throw OutputKeys.noCipher(e);
      }
    }

    /** The frame's header; after {@link #finish}. */
    public byte[] header() {
      return header.withPayloadCrc((int) checksum.getValue()).toBytes();
    }

    /** The frame's last bytes; after {@link #finish}. */
    public byte[] seal() {
      return seal;
    }
  }
}
