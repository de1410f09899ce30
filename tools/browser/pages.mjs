// Opens pages in a headless browser with a window of 1,280 pixels, in a light and in a dark theme, and prints what is
// wrong with them: messages on the console, requests that failed, content wider than the window, what can be clicked
// but not reached by the tabulator key, and text of too little contrast. Ends with 1 if there is anything.
//
//   node pages.mjs --unpack FOLDER    once: unpacks the browser of the package there
//   node pages.mjs FOLDER URL…        needs a list of links on each page, one with aria-current="page"; contrast is
//                                     looked at beside and below that list, because the rest is Spark's
//   node pages.mjs --site FOLDER HTML PAGE…    the documentation site as files, without a server: pages below the
//                                     folder HTML on a telephone and on a desk, in both themes, and the search; of all
//                                     other pages there, whether they fit a telephone
//   node pages.mjs --picture FOLDER THEME HEIGHT FILE URL    the page as a PNG

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

// Runs in the page. Contrast as WCAG 2 computes it, of all texts against the colours behind them: at least 4.5, for
// large ones 3. Links have the colours of Spark's own style, which on the white of Spark 3 come to 3.9: 3.8 for them.
function faintTexts() {
  const channels = (text) => {
    const numbers = (text.match(/[\d.]+/g) || []).map(Number);
    return numbers.length < 3 ? [0, 0, 0, 0] : [numbers[0], numbers[1], numbers[2], numbers[3] ?? 1];
  };
  const over = (top, bottom) => [0, 1, 2].map((i) => top[i] * top[3] + bottom[i] * (1 - top[3])).concat(1);
  const light = (colour) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
    const c = colour[i] / 255;
    return sum + weight * (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  }, 0);
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const style = getComputedStyle(e);
      layers.push(channels(style.backgroundColor));
      // Bootstrap 5 paints striped rows of tables as the inner shadow of their cells.
      const stripe = /^(rgba?\([^)]*\)).*inset$/.exec(style.boxShadow);
      if (stripe && /^T[DH]$/.test(e.tagName)) {
        layers.splice(layers.length - 1, 0, channels(stripe[1]));
      }
    }
    return layers.reverse().reduce((bottom, top) => over(top, bottom), [255, 255, 255, 1]);
  };
  const root = document.querySelector('[aria-current="page"]').closest('ul').parentElement;
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const found = new Set();
  while (texts.nextNode()) {
    const text = texts.currentNode.textContent.trim();
    const element = texts.currentNode.parentElement;
    if (text && element.getClientRects().length && !/^(TITLE|STYLE|SCRIPT|OPTION)$/i.test(element.tagName)) {
      const style = getComputedStyle(element);
      const back = behind(element);
      const front = over(channels(element.namespaceURI.endsWith('svg') ? style.fill : style.color), back);
      const [dark, bright] = [light(front), light(back)].sort((a, b) => a - b);
      const ratio = (bright + 0.05) / (dark + 0.05);
      const large = parseFloat(style.fontSize) >= (style.fontWeight >= 700 ? 18.66 : 24);
      if (ratio < (large ? 3 : element.closest('a') ? 3.8 : 4.5)) {
        found.add(`contrast of ${ratio.toFixed(2)}: ${element.tagName} "${text.slice(0, 60)}"`);
      }
    }
  }
  return [...found];
}

async function open(browser, url, theme, height, width = 1280) {
  const page = await browser.newPage();
  page.setDefaultTimeout(LIMIT_MILLIS);
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }]);
  return { page, show: () => page.goto(url, { waitUntil: 'networkidle0' }) };
}

function listen(page, found) {
  page.on('console', (message) => found.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => found.push(`script: ${error}`));
  page.on('requestfailed', (request) => found.push(`${request.url()}: ${request.failure().errorText}`));
  page.on('response', (response) => response.status() < 400 || found.push(`${response.url()}: ${response.status()}`));
}

async function overflow(page) {
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  return wider > 0 ? [`${wider} pixels wider than the window`] : [];
}

async function problems(browser, url, theme) {
  const found = [];
  const { page, show } = await open(browser, url, theme, 1000);
  listen(page, found);
  await show();
  if (await page.$('ul [aria-current="page"]')) {
    found.push(...await page.evaluate(faintTexts));
  } else {
    found.push('no list with an element that has aria-current="page"');
  }
  found.push(...await overflow(page));
  found.push(...(await unreachable(page)).map((what) => `not reached by the keyboard: ${what}`));
  await page.close();
  return found;
}

async function withBrowser(folder, use) {
  process.env.LD_LIBRARY_PATH = path.join(folder, 'lib');
  process.env.FONTCONFIG_PATH = folder;
  const browser = await puppeteer.launch({
    executablePath: path.join(folder, 'chromium'), args: ['--no-sandbox', '--disable-gpu', '--no-zygote'],
    headless: 'shell', timeout: LIMIT_MILLIS, protocolTimeout: LIMIT_MILLIS,
  });
  try {
    return await use(browser);
  } finally {
    await browser.close();
  }
}

async function look(browser, urls) {
  let count = 0;
  for (const url of urls) {
    for (const theme of ['light', 'dark']) {
      for (const problem of await problems(browser, url, theme)) {
        count += 1;
        console.log(`${url}, ${theme}: ${problem}`);
      }
    }
  }
  console.log(`${urls.length} pages, ${count} problems`);
  return count === 0 ? 0 : 1;
}

// Run in the page, whose search is in a shadow tree.
const searchIsOpen = () => [...document.querySelectorAll('*')]
  .some((e) => e.shadowRoot && e.shadowRoot.querySelector('dialog[open] input'));
const searchHasResults = () => [...document.querySelectorAll('*')]
  .some((e) => e.shadowRoot && /^[1-9]\d* results?$/.test(e.shadowRoot.querySelector('[role=status]')?.textContent));

// What is wrong with a page of the site, and with its search if there is a word to look for.
async function problemsOfSite(browser, url, theme, width, word) {
  const found = [];
  const { page, show } = await open(browser, url, theme, 800, width);
  listen(page, found);
  await show();
  found.push(...await overflow(page));
  // Colours change in a moment, when the page's script has asked for the theme.
  try {
    await page.waitForFunction((dark) => (getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).slice(0, 3)
      .reduce((sum, channel) => sum + Number(channel), 0) < 3 * 128) === dark, { timeout: 5_000 }, theme === 'dark');
  } catch {
    found.push(`it is not ${theme}`);
  }
  if (word) {
    try {
      await page.click(width < 1000 ? 'label[for="__search"]' : '.md-search__button');
      await page.waitForFunction(searchIsOpen, { timeout: 20_000 });
      await page.keyboard.type(word, { delay: 20 });
      await page.waitForFunction(searchHasResults, { timeout: 20_000 });
    } catch {
      found.push(`the search finds nothing for "${word}"`);
    }
  }
  await page.close();
  return found;
}

// How many of these pages are wider than a telephone, which it prints.
async function tooWide(browser, html, names) {
  let count = 0;
  const { page } = await open(browser, '', 'light', 800, 390);
  for (const name of names) {
    await page.goto(`file://${path.resolve(html, name)}`, { waitUntil: 'load' });
    for (const problem of await overflow(page)) {
      count += 1;
      console.log(`${name}, 390 pixels: ${problem}`);
    }
  }
  await page.close();
  return count;
}

async function lookAtSite(browser, html, names) {
  let count = 0;
  for (const name of names) {
    for (const [theme, width] of [['light', 390], ['dark', 390], ['light', 1280], ['dark', 1280]]) {
      const url = `file://${path.resolve(html, name)}`;
      const word = name === 'index.html' ? 'spill' : '';
      // A visitor of its own, because the site remembers a theme that it once had.
      const visitor = await browser.createBrowserContext();
      for (const problem of await problemsOfSite(visitor, url, theme, width, word)) {
        count += 1;
        console.log(`${name}, ${theme}, ${width} pixels: ${problem}`);
      }
      await visitor.close();
    }
  }
  const others = fs.readdirSync(html, { recursive: true }).filter((name) => name.endsWith('.html'))
    .filter((name) => !names.includes(name)).sort();
  count += await tooWide(browser, html, others);
  console.log(`${names.length} pages of the site, and the widths of ${others.length}: ${count} problems`);
  return count === 0 ? 0 : 1;
}

async function picture(browser, theme, height, file, url) {
  const { page, show } = await open(browser, url, theme, Number(height));
  await show();
  await page.screenshot({ path: file });
  return 0;
}

const [command, ...rest] = process.argv.slice(2);
if (command === '--unpack') {
  unpack(rest[0]);
} else if (command === '--site') {
  const [folder, html, ...names] = rest;
  process.exitCode = await withBrowser(folder, (browser) => lookAtSite(browser, html, names));
} else if (command === '--picture') {
  process.exitCode = await withBrowser(rest[0], (browser) => picture(browser, ...rest.slice(1)));
} else {
  process.exitCode = await withBrowser(command, (browser) => look(browser, rest));
}
