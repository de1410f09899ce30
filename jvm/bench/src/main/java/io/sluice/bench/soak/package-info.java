/**
 * Random programs with random faults, whose results are compared with stock Spark's.
 *
 * <pre>
 *   SoakProgram          which one: kind, seed, steps; its name and its listing
 *     Dice               decisions that a seed determines
 *     RandomQuery        SQL;  ColumnType  the columns of its input
 *     RandomRecords      RDD operations;  RecordStep  one of them
 *   SoakWorkload         a program as a workload (Spark);  RecordRunner  the RDD of one (Spark)
 *   Fault                what is done to an application while it runs a program
 *     ProcessFaults      processes killed and stopped;  Limits  resources taken by limits
 *     FileFaults         files, folders and disks;  NetworkFaults  the link and its connections
 *     StrangePeer        the process that listens in place of an executor
 *     JobFaults          jobs, stages, tasks and the driver's memory of outputs;  JobWishes  the driver's part (Spark)
 *     Room               a link, a disk and shared memory of an application's own;  CallFaults  calls of the system
 *     Command            the system's programs
 *   Soak                 programs one after the other, on both engines, until the time is over
 *     Watch              ends a driver that does not answer, with the stacks of its processes
 *     SoakPlan           which programs, faults and settings;  Profile  settings of applications
 *     Samples            memory, descriptors, mappings and files of applications between programs, as CSV
 *       ProcessSample    those of one process
 *     Endurance          what samples say and how they look;  Trend  whether a figure grows
 *     Shrinking          the shortest program that goes wrong, without the fault or with it
 * </pre>
 *
 * <p>Only the classes marked with Spark load a Spark class.
 */
package io.sluice.bench.soak;
