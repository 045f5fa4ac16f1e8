import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { startNode, type TestNode } from '../e2e/startNode.ts'
import { createRandom } from '../support/state/randomChain.ts'
import { Facts } from './facts.ts'
import { type Load, startLoad } from './load.ts'
import { SignedMessages } from './signedMessages.ts'
import { canMount, onSmallDisk } from './smallDisk.ts'

const TMPFS_BYTES = 6_000_000
const LEFT_BYTES = 600_000
/** a disk that takes no more, in one line */
const EXIT_DATA = 65

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-full-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

async function runToItsEnd(node: TestNode, facts: Facts): Promise<number | null> {
  const load: Load = startLoad(node, facts, createRandom(4))
  const code = await new Promise<number | null>((resolve) => node.process.once('exit', resolve))
  await load.stop()
  return code
}

async function expectRecovered(homedir: string, facts: Facts): Promise<void> {
  const signed = new SignedMessages()
  signed.addFrom(homedir)
  const node = await startNode({ homedir })
  const problems = await facts.check(node.url, true)
  const load = startLoad(node, facts, createRandom(5))
  const before = facts.receipts
  const seen = vi.waitFor(() => expect(facts.receipts).toBeGreaterThan(before), { timeout: 30_000 })
  await Promise.race([seen, load.ended])
  expect(facts.receipts).toBeGreaterThan(before)
  expect(await node.kill('SIGTERM')).toBe(0)
  await load.stop()
  signed.addFrom(homedir)
  expect(problems).toEqual([])
}

it.skipIf(!canMount())(
  'halts with a clear message when the disk is full, and goes on when there is space',
  async () => {
    await onSmallDisk(join(directory, 'disk'), TMPFS_BYTES, async (disk) => {
      const homedir = join(disk.path, 'home')
      const facts = new Facts()
      const node = await startNode({ homedir })
      disk.fill(LEFT_BYTES)
      expect(await runToItsEnd(node, facts)).toBe(EXIT_DATA)
      expect(node.output()).toMatch(/the node cannot continue and stops/)
      expect(node.output().trimEnd().split('\n').at(-1)).toMatch(
        /^coind: .*cannot be written: .*(No space left|ENOSPC)/,
      )
      expect(facts.receipts).toBeGreaterThan(0)
      disk.free()
      await expectRecovered(homedir, facts)
    })
  },
)
