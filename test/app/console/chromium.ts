import { accessSync, constants } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'

/** The installed browser. `CHROMIUM` is the path of another one. The shell has no windows, so it needs half of the processor time. */
const programs = ['chromium-headless-shell', 'chromium', 'google-chrome'].map((name) => `/usr/bin/${name}`)
const paths = [process.env['CHROMIUM'] ?? '', ...programs]

/** Undefined on a machine without a browser: then the tests of pages do not run, and one line says so. */
export const browserPath = paths.find((path) => {
  try {
    accessSync(path, constants.X_OK)
    return path !== ''
  } catch {
    return false
  }
})
if (browserPath === undefined)
  process.stderr.write(
    `The pages of the console are not tested: there is none of ${programs.join(', ')}, and CHROMIUM names none.\n`,
  )

export function openChromium(): Promise<Browser> {
  // Root needs no sandbox here: the pages are ours.
  return chromium.launch({ executablePath: browserPath ?? '', args: ['--no-sandbox', '--disable-dev-shm-usage'] })
}
