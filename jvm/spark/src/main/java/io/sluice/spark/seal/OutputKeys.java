package io.sluice.spark.seal;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import io.sluice.nativebridge.FrameNotAuthenticException;
import io.sluice.spark.SluiceException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.Key;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** The keys of one map output: of its frames, and of the end marks of its partitions. Any thread. */
public final class OutputKeys {
  static final int END_MARK_KEY_BYTES = 32;
  private static final String CIPHER = "AES/GCM/NoPadding";
  private static final int TAG_BYTES = 16;
  static final int NONCE_BYTES = 12;
  /** The header's bytes before its checksums. */
  private static final int AUTHENTICATED_HEADER_BYTES = 24;

  private final int shuffleId;
  private final long mapId;
  private final byte[] frameKey;
  private final Key frameKeySpec;
  private final byte[] endMarkKey;

  OutputKeys(int shuffleId, long mapId, byte[] frameKey, byte[] endMarkKey) {
    this.shuffleId = shuffleId;
    this.mapId = mapId;
    this.frameKey = frameKey;
    this.frameKeySpec = new SecretKeySpec(frameKey, "AES");
    this.endMarkKey = endMarkKey;
  }

  static byte[] info(String label, int shuffleId, long mapId) {
    byte[] text = label.getBytes(StandardCharsets.US_ASCII);
    return ByteBuffer.allocate(text.length + Integer.BYTES + Long.BYTES).order(ByteOrder.LITTLE_ENDIAN)
        .put(text).putInt(shuffleId).putLong(mapId).array();
  }

  public int shuffleId() {
    return shuffleId;
  }

  public long mapId() {
    return mapId;
  }

  /** The key of frames, for the native core; not to be changed. */
  public byte[] frameKey() {
    return frameKey;
  }

  /** Both keys, for the native core: the frames', then the end marks'. */
  public byte[] nativeKeys() {
    return ByteBuffer.allocate(frameKey.length + endMarkKey.length).put(frameKey).put(endMarkKey).array();
  }

  /** An end mark for {@code partition}, which has no frame yet. */
  public EndMark endMark(int partition) {
    return new EndMark(this, partition, endMarkKey);
  }

  /**
   * Opens a sealed frame in place, whose payload has the right checksum.
   *
   * @param header of the frame
   * @param payload from {@code at} on the header's encoded bytes; from there on then what was sealed
   * @return bytes of what was sealed
   * @throws FrameNotAuthenticException when the frame was not sealed for this map output and the partition it names
   */
  public int open(FrameHeader header, byte[] payload, int at) throws CorruptFrameException {
    int sealedBytes = (int) header.encodedBytes() - FrameHeader.SEAL_BYTES;
    if (sealedBytes < 0) {
      throw new CorruptFrameException(
          "a sealed payload of " + header.encodedBytes() + " bytes has no room for its seal");
    }
    int nonceAt = at + sealedBytes + TAG_BYTES;
    int partition = ByteBuffer.wrap(payload).order(ByteOrder.LITTLE_ENDIAN).getInt(nonceAt + NONCE_BYTES);
    byte[] nonce = new byte[NONCE_BYTES];
    System.arraycopy(payload, nonceAt, nonce, 0, NONCE_BYTES);
    try {
      Cipher cipher = cipher(Cipher.DECRYPT_MODE, nonce, header, partition);
      return cipher.doFinal(payload, at, sealedBytes + TAG_BYTES, payload, at);
    } catch (AEADBadTagException e) {
      throw new FrameNotAuthenticException("the frame of partition " + partition + " was not sealed with the key of "
          + "shuffle " + shuffleId + ", map id " + mapId + ", or it was changed");
    } catch (GeneralSecurityException e) {
      throw noCipher(e);
    }
  }

  /** A cipher for one frame, which has been given what is authenticated beside the payload. */
  Cipher cipher(int mode, byte[] nonce, FrameHeader header, int partition) throws GeneralSecurityException {
    Cipher cipher = Cipher.getInstance(CIPHER);
    cipher.init(mode, frameKeySpec, new GCMParameterSpec(TAG_BYTES * Byte.SIZE, nonce));
    cipher.updateAAD(header.toBytes(), 0, AUTHENTICATED_HEADER_BYTES);
    cipher.updateAAD(place(partition));
    return cipher;
  }

  /** Where frames of {@code partition} lie. */
  byte[] place(int partition) {
    return ByteBuffer.allocate(2 * Integer.BYTES + Long.BYTES).order(ByteOrder.LITTLE_ENDIAN)
        .putInt(shuffleId).putLong(mapId).putInt(partition).array();
  }

  static SluiceException noCipher(GeneralSecurityException e) {
    return new SluiceException(
        "spark.io.encryption.enabled needs " + CIPHER + " and SHA-256, and a security provider of "
            + "this Java failed at them (" + e + "). See the list of providers in its file java.security",
        e);
  }
}
