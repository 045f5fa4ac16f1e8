import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startNode } from './startNode.ts'

const TIMEOUT_MS = 60_000

/** Loaded into every thread of the node: the one that is named throws as soon as a file is there. */
const BOMB = `
import { existsSync } from 'node:fs'
import * as threads from 'node:worker_threads'
const blow = () => { if (existsSync(process.env.DYING_FILE)) throw new Error('bomb') }
if (threads.threadName === process.env.DYING_THREAD) setInterval(blow, 100).unref()
`

describe('a thread that dies', () => {
  let homedir: string
  beforeEach(() => {
    homedir = mkdtempSync(join(tmpdir(), 'coind-death-'))
  })
  afterEach(() => rmSync(homedir, { recursive: true, force: true }))

  it.each(['executor', 'pool'])('%s: the node says why, stops, and starts again', async (name) => {
    const file = join(homedir, 'die')
    const node = await startNode({
      homedir,
      environment: {
        NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(BOMB)}`,
        DYING_THREAD: name,
        DYING_FILE: file,
      },
    })
    const exit = new Promise<number | null>((resolve) => node.process.once('exit', resolve))
    writeFileSync(file, '')
    const timer = setTimeout(() => node.process.kill('SIGKILL'), TIMEOUT_MS)
    expect(await exit).toBe(1)
    clearTimeout(timer)
    expect(node.output()).toContain(`the ${name} thread failed`)
    expect(node.output()).toContain('bomb')

    rmSync(file)
    const again = await startNode({ homedir })
    expect(await again.kill('SIGTERM')).toBe(0)
  })
})
