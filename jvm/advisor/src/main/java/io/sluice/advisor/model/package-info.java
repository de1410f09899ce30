/** What an application was, as its event log tells it: sums of stages, jobs, executors and settings. */
package io.sluice.advisor.model;
