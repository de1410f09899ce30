package io.sluice.spark.seal;

import java.io.ByteArrayOutputStream;
import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.InvalidAlgorithmParameterException;
import java.security.InvalidKeyException;
import java.security.Key;
import java.security.Provider;
import java.security.SecureRandom;
import java.security.spec.AlgorithmParameterSpec;
import javax.crypto.BadPaddingException;
import javax.crypto.Cipher;
import javax.crypto.CipherSpi;
import javax.crypto.IllegalBlockSizeException;
import javax.crypto.ShortBufferException;

/** AES-GCM of Java's own provider, all of whose bytes come out of the last call. */
public final class KeepingProvider extends Provider {
  private static final long serialVersionUID = 1L;
  /** How many messages it has ended. */
  static int finished;

  KeepingProvider() {
    super("Keeping", "1", "for tests");
    put("Cipher.AES/GCM/NoPadding", Gcm.class.getName());
  }

  /** As Java's provider framework makes it. */
  public static final class Gcm extends CipherSpi {
    private final Cipher cipher;
    private final ByteArrayOutputStream kept = new ByteArrayOutputStream();

    public Gcm() throws GeneralSecurityException {
      cipher = Cipher.getInstance("AES/GCM/NoPadding", "SunJCE");
    }

    @Override
    protected void engineInit(int mode, Key key, AlgorithmParameterSpec parameters, SecureRandom random)
        throws InvalidKeyException, InvalidAlgorithmParameterException {
      cipher.init(mode, key, parameters);
    }

    @Override
    protected void engineUpdateAAD(byte[] bytes, int offset, int count) {
      cipher.updateAAD(bytes, offset, count);
    }

    @Override
    protected byte[] engineUpdate(byte[] bytes, int offset, int count) {
      kept.write(bytes, offset, count);
      return null;
    }

    @Override
    protected int engineUpdate(byte[] bytes, int offset, int count, byte[] target, int at) {
      kept.write(bytes, offset, count);
      return 0;
    }

    @Override
    protected byte[] engineDoFinal(byte[] bytes, int offset, int count)
        throws IllegalBlockSizeException, BadPaddingException {
      if (count > 0) {
        kept.write(bytes, offset, count);
      }
      finished++;
      return cipher.doFinal(kept.toByteArray());
    }

    @Override
    protected int engineDoFinal(byte[] bytes, int offset, int count, byte[] target, int at)
        throws ShortBufferException, IllegalBlockSizeException, BadPaddingException {
      if (target.length - at < engineGetOutputSize(count)) {
        throw new ShortBufferException();
      }
      byte[] result = engineDoFinal(bytes, offset, count);
      System.arraycopy(result, 0, target, at, result.length);
      return result.length;
    }

    @Override
    protected int engineGetOutputSize(int count) {
      return cipher.getOutputSize(kept.size() + count);
    }

    @Override
    protected int engineGetBlockSize() {
      return cipher.getBlockSize();
    }

    @Override
    protected byte[] engineGetIV() {
      return cipher.getIV();
    }

    @Override
    protected AlgorithmParameters engineGetParameters() {
      return cipher.getParameters();
    }

    @Override
    protected void engineInit(int mode, Key key, SecureRandom random) {
      throw new UnsupportedOperationException();
    }

    @Override
    protected void engineInit(int mode, Key key, AlgorithmParameters parameters, SecureRandom random) {
      throw new UnsupportedOperationException();
    }

    @Override
    protected void engineSetMode(String mode) {}

    @Override
    protected void engineSetPadding(String padding) {}
  }
}
