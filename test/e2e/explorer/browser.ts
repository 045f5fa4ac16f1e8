import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

/** Debian's package chromium has it here. */
const USUAL_PATH = '/usr/bin/chromium'

/** Where the browser of the tests is: CHROMIUM_PATH, else where Debian puts it; undefined: there is none on this machine. */
export function browserPath(): string | undefined {
  const path = process.env.CHROMIUM_PATH ?? USUAL_PATH
  if (existsSync(path)) return path
  console.warn(
    `no browser at ${path}: the explorer's pages are not tested (install Debian's chromium, or set CHROMIUM_PATH)`,
  )
  return undefined
}

/** A browser without a window, which asks nobody but the pages' own server for anything. */
export function launchBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}
