import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it, vi } from 'vitest'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { ed25519Key } from '../../src/primitives/ed25519.ts'
import { dialNode, TestSigner } from '../support/p2p/privval/testSigner.ts'
import { rpc } from './rpc.ts'
import { startNode, type TestNode } from './startNode.ts'

const KEY = ed25519Key(new Uint8Array(32).fill(3))
const WAIT = { timeout: 60_000, interval: 50 }

const directory = mkdtempSync(join(tmpdir(), 'coind-signer-'))
let node: TestNode | undefined
afterAll(async () => {
  await node?.stop()
  rmSync(directory, { recursive: true })
})

it('the only validator of a chain waits for its signer, signs by it, and goes on when it comes back in the middle of a vote', async () => {
  const path = join(directory, 'signer.sock')
  const signer = new TestSigner(KEY, 'coin_76287-1')
  const starting = startNode({ environment: { PRIV_VALIDATOR_LADDR: `unix://${path}` } })
  await vi.waitFor(() => expect(existsSync(path)).toBe(true), WAIT)
  const socket = dialNode(signer, { path }, KEY)
  node = await starting
  const { url, homedir } = node
  const height = async (): Promise<number> => Number(await rpc<string>(url, 'eth_blockNumber'))

  expect(existsSync(dataPaths(homedir).validatorKey)).toBe(false)
  const status = (await (await fetch(`${url}rpc/status`)).json()) as {
    readonly result: { readonly validator_info: { readonly pub_key: { readonly value: string } } }
  }
  expect(status.result.validator_info.pub_key.value).toBe(Buffer.from(KEY.publicKey).toString('base64'))
  await vi.waitFor(async () => expect(await height()).toBeGreaterThan(1), WAIT)

  signer.conduct = 'silent'
  const before = signer.asked.length
  await vi.waitFor(() => expect(signer.asked.length).toBeGreaterThan(before), WAIT)
  const step = signer.asked.at(-1)!
  socket.destroy()
  signer.conduct = 'sign'
  const again = dialNode(signer, { path }, KEY)
  const reached = await height()
  await vi.waitFor(async () => expect(await height()).toBeGreaterThan(reached + 1), WAIT)
  expect(signer.asked.filter((asked) => asked === step)).toHaveLength(2)
  again.destroy()
})
