/**
 * The report as a page: charts drawn by JFreeChart, written as SVG by Batik, between tables in one HTML file
 * that refers to nothing outside itself and runs no script.
 */
package io.sluice.bench.page;
