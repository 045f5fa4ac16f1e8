import { mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { rpc } from './rpc.ts'
import { runCoind } from './runCoind.ts'
import { startNode, type TestNode } from './startNode.ts'

/** Waits until the node has this block. */
async function untilBlock(node: TestNode, height: number): Promise<void> {
  while (Number(await rpc(node.url, 'eth_blockNumber')) < height)
    await new Promise((resolve) => setTimeout(resolve, 50))
}

it('makes a snapshot beside a running node and of a stopped one, and verifies it', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'coind-snapshots-'))
  const homedir = join(directory, 'home')
  const coind = (...args: string[]) => runCoind(['snapshot', ...args, '--homedir', homedir])
  const running = join(directory, 'running')
  const stopped = join(directory, 'stopped')
  try {
    const node = await startNode({ homedir })
    await untilBlock(node, 6)
    const made = await coind('create', '--out', running)
    expect(made).toMatchObject({ code: 0, output: expect.stringMatching(/^Made a snapshot of block \d+: \d+ chunks/) })
    const height = Number(/block (\d+)/.exec(made.output)![1])
    expect(await node.kill('SIGTERM')).toBe(0)

    const again = await coind('create', '--out', stopped, '--height', String(height))
    expect(again).toMatchObject({ code: 0, output: expect.stringContaining(`Made a snapshot of block ${height}:`) })
    expect(readdirSync(stopped).sort()).toEqual(readdirSync(running).sort())
    expect(readdirSync(homedir).filter((name) => name.startsWith('copy-'))).toEqual([])
    expect(await coind('verify', stopped)).toMatchObject({
      code: 0,
      output: expect.stringContaining(`The snapshot of block ${height} is complete and fits together`),
    })
    // Where no chain is.
    const elsewhere = await runCoind(['snapshot', 'verify', running, '--homedir', join(directory, 'none')])
    expect(elsewhere.code).toBe(0)

    expect(await coind('create', '--out', stopped)).toMatchObject({
      code: 65,
      output: expect.stringContaining('stopped exists already: name another directory'),
    })
    const chunk = readdirSync(running).find((name) => name.endsWith('.zst'))!
    truncateSync(join(running, chunk), 20)
    expect(await coind('verify', running)).toMatchObject({
      code: 65,
      output: expect.stringMatching(new RegExp(`${chunk} \\(.+\\) is bad: it has 20 bytes, not \\d+\n$`)),
    })
  } finally {
    rmSync(directory, { recursive: true })
  }
})
