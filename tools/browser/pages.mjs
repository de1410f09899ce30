// Opens pages in a headless browser with a window of 1,280 pixels, in a light and in a dark theme, and prints what is
// wrong with them: messages on the console, requests that failed, content wider than the window, and what can be
// clicked but not reached by the tabulator key. Ends with 1 if there is anything.
//
//   node pages.mjs --unpack FOLDER    once: unpacks the browser of the package there
//   node pages.mjs FOLDER URL…        needs an element with aria-current="page" on each page

import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { execFileSync } from 'node:child_process';
import zlib from 'node:zlib';
import puppeteer from 'puppeteer-core';

const LIMIT_MILLIS = 120_000;
const MOST_FOCUSED = 500;
const CLICKABLE = 'a[href], button, input, select, summary, [onclick]';

function unpack(folder) {
  const main = createRequire(import.meta.url).resolve('@sparticuz/chromium');
  const packed = path.join(path.dirname(main), '../../bin');
  fs.mkdirSync(folder, { recursive: true });
  const read = (name) => zlib.brotliDecompressSync(fs.readFileSync(path.join(packed, `${name}.br`)));
  fs.writeFileSync(path.join(folder, 'chromium'), read('chromium'), { mode: 0o755 });
  for (const libraries of ['al2023.tar', 'fonts.tar']) {
    execFileSync('tar', ['-x', '-C', folder], { input: read(libraries) });
  }
  // The package's names folders of its usual place; without a font the browser ends at the first field of a form.
  fs.writeFileSync(path.join(folder, 'fonts.conf'), `<?xml version="1.0"?>
<fontconfig>
  <dir>${path.resolve(folder, 'fonts')}</dir>
  <cachedir>${path.resolve(folder, 'cache')}</cachedir>
</fontconfig>
`);
}

async function unreachable(page) {
  const reached = new Set();
  for (let i = 0; i < MOST_FOCUSED; i++) {
    await page.keyboard.press('Tab');
    const index = await page.evaluate((selector) => [...document.querySelectorAll(selector)]
      .indexOf(document.activeElement), CLICKABLE);
    if (reached.has(index) || (index < 0 && i > 0)) {
      break;
    }
    reached.add(index);
  }
  const shown = await page.evaluate((selector) => [...document.querySelectorAll(selector)].map(
    (e) => (e.getClientRects().length && !e.disabled ? `${e.tagName} ${e.textContent.trim()}` : '')), CLICKABLE);
  return shown.filter((text, index) => text && !reached.has(index));
}

async function problems(browser, url, theme) {
  const found = [];
  const page = await browser.newPage();
  page.setDefaultTimeout(LIMIT_MILLIS);
  page.on('console', (message) => found.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => found.push(`script: ${error}`));
  page.on('requestfailed', (request) => found.push(`${request.url()}: ${request.failure().errorText}`));
  page.on('response', (response) => response.status() < 400 || found.push(`${response.url()}: ${response.status()}`));
  await page.setViewport({ width: 1280, height: 1000 });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }]);
  await page.goto(url, { waitUntil: 'networkidle0' });
  if (!await page.$('[aria-current="page"]')) {
    found.push('no element with aria-current="page"');
  }
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (wider > 0) {
    found.push(`${wider} pixels wider than the window`);
  }
  found.push(...(await unreachable(page)).map((what) => `not reached by the keyboard: ${what}`));
  await page.close();
  return found;
}

async function main(folder, urls) {
  process.env.LD_LIBRARY_PATH = path.join(folder, 'lib');
  process.env.FONTCONFIG_PATH = folder;
  const browser = await puppeteer.launch({
    executablePath: path.join(folder, 'chromium'), args: ['--no-sandbox', '--disable-gpu', '--no-zygote'],
    headless: 'shell', timeout: LIMIT_MILLIS, protocolTimeout: LIMIT_MILLIS,
  });
  let count = 0;
  try {
    for (const url of urls) {
      for (const theme of ['light', 'dark']) {
        for (const problem of await problems(browser, url, theme)) {
          count += 1;
          console.log(`${url}, ${theme}: ${problem}`);
        }
      }
    }
  } finally {
    await browser.close();
  }
  console.log(`${urls.length} pages, ${count} problems`);
  return count === 0 ? 0 : 1;
}

if (process.argv[2] === '--unpack') {
  unpack(process.argv[3]);
} else {
  process.exitCode = await main(process.argv[2], process.argv.slice(3));
}
