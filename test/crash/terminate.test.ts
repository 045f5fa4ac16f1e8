import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { startNode } from '../e2e/startNode.ts'
import { createRandom } from '../support/state/randomChain.ts'
import { Facts } from './facts.ts'
import { startLoad } from './load.ts'
import { SignedMessages } from './signedMessages.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-stop-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

it('stops cleanly under load on SIGTERM and on SIGINT, and loses nothing', async () => {
  const homedir = join(directory, 'home')
  const facts = new Facts()
  const signed = new SignedMessages()
  for (const [round, signal] of (['SIGTERM', 'SIGINT'] as const).entries()) {
    const node = await startNode({ homedir })
    expect(await facts.check(node.url, true)).toEqual([])
    const before = facts.receipts
    const load = startLoad(node, facts, createRandom(round))
    const isUnderLoad = vi.waitFor(() => expect(facts.receipts).toBeGreaterThan(before), { timeout: 30_000 })
    await Promise.race([isUnderLoad, load.ended])
    await setTimeout(500 + round * 130)
    expect(await node.kill(signal)).toBe(0)
    await load.stop()
    expect(node.output()).toContain('node has stopped')
    expect(node.output()).not.toMatch(/"level":"(error|fatal)"/)
    signed.addFrom(homedir)
  }
  const node = await startNode({ homedir })
  expect(await facts.check(node.url, true)).toEqual([])
  // A clean stop leaves nothing to replay.
  expect(node.output()).not.toContain('replayed')
  await node.kill('SIGTERM')
  expect(facts.receipts).toBeGreaterThan(0)
})
