package io.sluice.doctor.host;

/** Size of a file system and what a process may still write to it. */
public record Space(long totalBytes, long freeBytes) {}
