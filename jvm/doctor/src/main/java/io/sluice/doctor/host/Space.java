package io.sluice.doctor.host;

/** The size of a file system and the bytes that a process may still write to it. */
public record Space(long totalBytes, long freeBytes) {}
