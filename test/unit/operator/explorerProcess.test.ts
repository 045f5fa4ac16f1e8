import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { startExplorer } from '../../../src/operator/explorerProcess.ts'
import { freePort } from '../../e2e/startNode.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-explorer-process-'))
})
afterEach(() => {
  rmSync(directory, { recursive: true })
})

it('closes its databases when it is stopped, also where it is told so twice', async () => {
  const stop = new AbortController()
  const explorer = await startExplorer(
    {
      // Nobody listens there: it waits for its node.
      EXPLORER_NODE_URL: 'http://127.0.0.1:1/',
      EXPLORER_HOST: '127.0.0.1',
      EXPLORER_PORT: String(await freePort()),
      EXPLORER_DATABASE: join(directory, 'index.sqlite'),
      LOG_LEVEL: 'silent',
    },
    stop.signal,
  )
  if (typeof explorer === 'string') throw new Error(explorer)
  const log = 'index-services.sqlite-wal'
  expect(readdirSync(directory)).toContain(log)
  stop.abort()
  await explorer.stop()
  // SQLite leaves its log of commits where a process has ended without closing.
  expect(readdirSync(directory)).not.toContain(log)
})
