package io.sluice.nativebridge;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Map;

/**
 * Checks of a library before the loader maps it: the loader ends the process (SIGBUS) when it reads beyond the
 * end of a file that was cut. Offsets are those of the ELF-64 header ({@code elf(5)}).
 */
final class ElfFile {
  private static final int HEADER_BYTES = 64;
  private static final int MAGIC = 0x464C457F;
  private static final byte CLASS_64 = 2;
  private static final byte LITTLE_ENDIAN = 1;
  private static final int MACHINE_OFFSET = 18;
  private static final int SECTION_TABLE_OFFSET = 40;
  private static final int SECTION_ENTRY_BYTES_OFFSET = 58;
  private static final int SECTIONS_OFFSET = 60;
  private static final Map<String, Integer> MACHINES = Map.of("x86_64", 62, "aarch64", 183);

  private ElfFile() {}

  /** Why {@code file} cannot be a library for {@code machine}, or null. */
  static String fault(Path file, String machine) throws IOException {
    try (FileChannel channel = FileChannel.open(file)) {
      ByteBuffer header = ByteBuffer.allocate(HEADER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
      while (header.hasRemaining() && channel.read(header) >= 0) {
        // Reads may be short.
      }
      if (header.hasRemaining()) {
        return "it has " + header.position() + " bytes, fewer than a library's header";
      }
      if (header.getInt(0) != MAGIC || header.get(4) != CLASS_64 || header.get(5) != LITTLE_ENDIAN) {
        return "it is no 64-bit ELF library";
      }
      int found = header.getShort(MACHINE_OFFSET);
      if (found != MACHINES.getOrDefault(machine, found)) {
        return "it is for another machine (ELF machine " + found + "), this one is " + machine;
      }
      return sizeFault(header, channel.size());
    }
  }

  /** The table of sections is the last thing that linkers write. */
  private static String sizeFault(ByteBuffer header, long size) {
    long table = header.getLong(SECTION_TABLE_OFFSET);
    long tableBytes = (long) Short.toUnsignedInt(header.getShort(SECTION_ENTRY_BYTES_OFFSET))
        * Short.toUnsignedInt(header.getShort(SECTIONS_OFFSET));
    return table < HEADER_BYTES || table > size - tableBytes
        ? "it is cut or damaged: it has " + size + " bytes, its header asks for " + (table + tableBytes) : null;
  }
}
