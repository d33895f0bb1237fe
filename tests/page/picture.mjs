// The pictures of README.md and docs/page.md: the demo's company as the page shows it, in light and dark.
import { browser, page } from "./browser.mjs";

const served = await page(process.argv[2]);
const context = await browser({ viewport: { width: 1280, height: 860 } });
const tab = await context.newPage();
for (const colorScheme of ["light", "dark"]) {
  await tab.emulateMedia({ colorScheme });
  await tab.goto(`${served.address}/`);
  await tab.screenshot({ path: `docs/images/page-${colorScheme}.png` });
  await tab.goto(`${served.address}/plans/Pricing%20page`);
  await tab.screenshot({ path: `docs/images/plan-${colorScheme}.png` });
}
await context.close();
await served.stop();
