package io.sluice.spark.conf;

import java.util.List;

/**
 * Settings of one purpose, which stand together in the documentation.
 *
 * @param title the heading
 * @param purpose who needs these settings and for what, in one or more sentences
 */
record SettingsGroup(String title, String purpose, List<Setting<?>> settings) {}
