package io.sluice.bench.page;

import java.awt.Color;
import java.awt.Font;
import java.util.Map;

/** Colours and fonts of every chart. Hues differ in lightness too, so that they can be told apart in grey. */
final class Palette {

  static final Color TEXT = new Color(0x33, 0x3B, 0x46);
  static final Color GRID = new Color(0xE3, 0xE7, 0xEC);
  static final Color WHISKER = new Color(0x33, 0x3B, 0x46);
  static final Font LABEL = new Font(Font.SANS_SERIF, Font.PLAIN, 13);
  static final Font FIGURE = new Font(Font.SANS_SERIF, Font.PLAIN, 12);
  static final Font STRONG = new Font(Font.SANS_SERIF, Font.BOLD, 12);

  /** Of the four parts of task time, in the order of {@link StageChart}. */
  static final Color[] PARTS = {new Color(0x2F, 0x6D, 0xB5), new Color(0xE0, 0x8A, 0x2C), new Color(0xC2, 0x3B, 0x4E),
    new Color(0x8F, 0xBC, 0xE6)};

  private static final Color OTHER = new Color(0x8A, 0x6B, 0xB5);
  private static final Map<String, Color> ENGINES = Map.ofEntries(
      Map.entry("stock", new Color(0xA9, 0xB4, 0xC2)), Map.entry("no-network", new Color(0xE0, 0xA4, 0x3A)),
      Map.entry("sluice", new Color(0x12, 0x7C, 0x8A)), Map.entry("sluice-ucx", new Color(0x5B, 0xA8, 0x6B)),
      Map.entry("sluice-rdma", new Color(0x2F, 0x6D, 0xB5)), Map.entry("sluice-cache", new Color(0xB0, 0x6B, 0x2F)),
      Map.entry("stock-encrypted", new Color(0x7B, 0x86, 0x94)),
      Map.entry("sluice-encrypted", new Color(0x0C, 0x52, 0x5C)), Map.entry("comet", new Color(0xC2, 0x3B, 0x4E)),
      Map.entry("comet+sluice", new Color(0x6B, 0x4E, 0xA8)), Map.entry("celeborn", new Color(0xD9, 0x8E, 0x2B)),
      Map.entry("uniffle", new Color(0x9C, 0xB0, 0x3C)), Map.entry("rapids", new Color(0x4E, 0x7A, 0x1E)),
      Map.entry("gluten", new Color(0xC9, 0x7B, 0xA6)));

  private Palette() {}

  static Color engine(String engine) {
    return ENGINES.getOrDefault(engine, OTHER);
  }
}
