import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { DEVNET_ACCOUNTS } from '../../src/cli/devnetAccounts.ts'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { rpc } from '../e2e/rpc.ts'
import { runCoind } from '../e2e/runCoind.ts'
import { startNode } from '../e2e/startNode.ts'
import { runs } from '../propertyRuns.ts'

const WALLET = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const GENESIS_WALLET = bytesToHex(DEVNET_ACCOUNTS[0]!.address)
const KILLS = runs(3)
const START_KILLS = runs(2)

let homedir: string
beforeEach(() => {
  homedir = mkdtempSync(join(tmpdir(), 'coind-init-'))
})
afterEach(() => rmSync(homedir, { recursive: true }))

it('makes the data directory ready, however often that was interrupted', { timeout: 180_000 }, async () => {
  const { genesis, validatorKey } = dataPaths(homedir)
  const init = (killAfterMs?: number) =>
    runCoind(['init', '--homedir', homedir, '--network', 'devnet'], {
      environment: { GENESIS_WALLET: WALLET },
      ...(killAfterMs === undefined ? {} : { killAfterMs }),
    })
  const usual = performance.now()
  expect((await init()).code).toBe(0)
  const usualMs = performance.now() - usual
  for (let kill = 0; kill < KILLS; kill++) {
    rmSync(homedir, { recursive: true })
    // Files are written in the last part of it.
    await init(usualMs * (0.5 + (0.5 * kill) / KILLS))
    const key = existsSync(validatorKey) ? readFileSync(validatorKey, 'utf8') : undefined
    const former = existsSync(genesis) ? readFileSync(genesis, 'utf8') : undefined
    const { code, output } = await init()
    expect(`${code} ${output}`).toMatch(/^0 (Created|Nothing to do)/)
    if (key !== undefined) expect(readFileSync(validatorKey, 'utf8')).toBe(key)
    if (former !== undefined) expect(readFileSync(genesis, 'utf8')).toBe(former)
  }
})

it('starts, however often the first start was interrupted', { timeout: 180_000 }, async () => {
  const home = join(homedir, 'home')
  for (let kill = 1; kill <= START_KILLS; kill++) {
    await startNode({
      homedir: home,
      onSpawn: (child) => void setTimeout((kill * 1_800) / START_KILLS).then(() => child.kill('SIGKILL')),
    }).then(
      (node) => node.kill('SIGKILL'),
      () => undefined,
    )
  }
  const node = await startNode({ homedir: home })
  const balance = await rpc(node.url, 'eth_getBalance', GENESIS_WALLET, '0x0')
  expect(balance).toBe('0x33b2e3c9fd0803ce8000000')
  expect(await node.kill('SIGTERM')).toBe(0)
})
