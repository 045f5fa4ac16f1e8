import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import type { RunningExplorer } from '../../explorer/startExplorer.ts'
import { launchBrowser } from '../e2e/explorer/browser.ts'
import { startTestExplorer } from '../e2e/explorer/startTestExplorer.ts'
import { startQuickDevnet } from '../e2e/quickDevnet.ts'
import type { TestNode } from '../e2e/startNode.ts'

/** A chain, an explorer of it, and a browser for its pages. */
export interface ExplorerPages {
  readonly node: TestNode
  readonly explorer: RunningExplorer
  readonly browser: Browser
  /** that is removed at the end */
  readonly directory: string
  stop(): Promise<void>
}

/**
 * Starts them, each when those that it needs are there.
 * @param executablePath of the browser
 * @param options `environment`: of the node; `settings`: more of the explorer's; `fill`: what happens on the chain before it has an explorer
 */
export async function startExplorerPages(
  executablePath: string,
  {
    environment = {},
    settings = () => ({}),
    fill,
  }: {
    readonly environment?: Readonly<Record<string, string>>
    readonly settings?: (directory: string) => Readonly<Record<string, string>>
    readonly fill?: (node: TestNode) => Promise<void>
  } = {},
): Promise<ExplorerPages> {
  const directory = mkdtempSync(join(tmpdir(), 'coind-pages-'))
  const parts: (() => Promise<unknown>)[] = []
  const stop = async (): Promise<void> => {
    for (const end of parts.toReversed()) await end()
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    const node = await startQuickDevnet({ environment })
    parts.push(node.stop)
    await fill?.(node)
    const explorer = await startTestExplorer(node.url, directory, {
      EXPLORER_PUBLIC_RPC_URL: node.url,
      EXPLORER_CHAIN_NAME: 'Test network',
      ...settings(directory),
    })
    parts.push(() => {
      explorer.stop()
      return explorer.ended
    })
    const browser = await launchBrowser(executablePath)
    parts.push(() => browser.close())
    return { node, explorer, browser, directory, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/**
 * Gathers what goes wrong in a page from now on: errors, requests that fail, and requests to others.
 * @param known how addresses begin that the page may ask
 * @param isMissing of which of them nothing may be found
 */
export function watchPage(
  page: Page,
  known: readonly string[],
  isMissing: (url: string) => boolean,
): readonly string[] {
  const problems: string[] = []
  page.on('pageerror', ({ message }) => problems.push(message))
  page.on('console', (message) => {
    const { url } = message.location()
    // The browser writes it to the console when something is not found.
    const isExpected = message.text().includes('404') && isMissing(url)
    if (message.type() === 'error' && !isExpected) problems.push(`${message.text()} ${url}`)
  })
  page.on('request', (request) => {
    const url = request.url()
    if (!known.some((own) => url.startsWith(own)) && !url.startsWith('data:')) problems.push(url)
  })
  return problems
}

/** Whether a page has to be moved sideways to be read. */
export function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate<boolean>('document.documentElement.scrollWidth > document.documentElement.clientWidth')
}
