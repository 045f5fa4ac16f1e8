import { readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Hex } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { publicKeyJson } from '../../../src/cli/commands/consensusKey.ts'
import { loadValidatorKey, type ValidatorKey } from '../../../src/consensus/validatorKey.ts'
import { dataPaths } from '../../../src/datadir/dataDirectory.ts'
import { parseNodeId, parsePeerAddress } from '../../../src/p2p/peerAddress.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { SignedMessages } from '../../crash/signedMessages.ts'
import { type GossipWatcher, watchGossip } from '../../signers/gossipWatcher.ts'
import { sendByCli } from '../native/runCli.ts'
import { runCoind } from '../runCoind.ts'
import { differences, type LocalNetwork, makeNetwork, type NetworkNode, QUICK, waitForHeight } from './localNetwork.ts'

/*
 * One of four validators rotates its consensus key and is killed twice at each height of the change: when the block before is there, and when it
 * has signed its first vote of the height. Another one is off meanwhile, so that no block is made without the one that rotates: no height passes while
 * it starts, and each block has its signature.
 */

/** A start takes less, on a machine with time for it, so that the second kill of a height comes in the middle of it. */
const BLOCK_INTERVAL_MS = 2_000
/** Heights with kills after the first one that the next key signs. */
const HEIGHTS_AFTER = 3
const PATIENCE_MS = 120_000
const TIMEOUT_MS = 900_000
const FLAG_COMMIT = 2

interface CommitAnswer {
  readonly signed_header: {
    readonly commit: {
      readonly signatures: readonly { readonly block_id_flag: number; readonly validator_address: string }[]
    }
  }
}

let network: LocalNetwork
let watcher: GossipWatcher
let seed: NetworkNode
let rotating: NetworkNode
let third: NetworkNode
let off: NetworkNode
let former: ValidatorKey
let next: ValidatorKey
const signed = new SignedMessages()

beforeAll(async () => {
  network = await makeNetwork({ ...QUICK, validators: 4, blockIntervalMs: BLOCK_INTERVAL_MS })
  ;[seed, rotating, third, off] = network.validators as [NetworkNode, NetworkNode, NetworkNode, NetworkNode]
  const { code, output } = await runCoind(['consensus-key', 'next', '--homedir', rotating.home])
  expect({ code, output }).toMatchObject({ code: 0 })
  const paths = dataPaths(rotating.home)
  former = loadValidatorKey(paths.validatorKey)!
  next = loadValidatorKey(paths.nextValidatorKey)!
  await network.start()
  const peers = network.validators.map(({ nodeId, peerAddress }) => ({
    id: parseNodeId(nodeId),
    address: parsePeerAddress(peerAddress)!,
  }))
  watcher = await watchGossip(network.chainId, network.genesisHash, peers)
}, TIMEOUT_MS)

afterAll(async () => {
  await watcher?.close()
  await network?.stop()
})

/** Ends the node that rotates and starts it again. What its log has of signatures is noted, and checked. */
async function killAndStart(): Promise<void> {
  await rotating.kill('SIGKILL')
  signed.addFrom(rotating.home)
  await rotating.start()
}

/** Waits until the log of the node that rotates has a vote of the height or a later one, which may just leave it. */
async function untilVoted(height: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    signed.addFrom(rotating.home)
    if ([former, next].some(({ address }) => Math.max(0, ...signed.heightsOf(address)) >= height)) return
    if (performance.now() > deadline) throw new Error(`no vote from height ${height} on`)
    await sleep(5)
  }
}

/** Sends the rotation through another node; gives the height of its block. */
async function sendRotation(): Promise<number> {
  const file = join(dataPaths(rotating.home).config, 'operator_key.json')
  const { private_key } = JSON.parse(readFileSync(file, 'utf8')) as { readonly private_key: Hex }
  const key = publicKeyJson(next.publicKey)
  const { height } = await sendByCli(`${seed.rpcUrl}/`, private_key, ['staking', 'rotate-cons-pub-key', key])
  return Number(height)
}

/** Which of the validator's keys have signed for the block at the height in its commit. */
async function committedBy(height: number): Promise<readonly ValidatorKey[]> {
  const { signed_header } = await seed.comet<CommitAnswer>(`commit?height=${height}`)
  const addresses = signed_header.commit.signatures
    .filter(({ block_id_flag }) => block_id_flag === FLAG_COMMIT)
    .map(({ validator_address }) => `0x${validator_address.toLowerCase()}`)
  return [former, next].filter(({ address }) => addresses.includes(bytesToHex(address)))
}

it(
  'a validator that is killed at each height of a rotation signs each with the key of the height',
  async () => {
    await Promise.all(network.nodes.map((node) => waitForHeight(node, 2)))
    await off.kill('SIGTERM')
    const begin = (await rotating.height()) + 1
    let last = begin - 1
    /** the first height of the next key, once its transaction is in a block */
    let first = Number.POSITIVE_INFINITY
    let sent: Promise<void> | undefined
    while (last < first + HEIGHTS_AFTER) {
      await waitForHeight(rotating, last, PATIENCE_MS)
      last++
      // 1. Between two heights.
      await killAndStart()
      if (last === begin + 1) {
        sent = sendRotation().then((included) => {
          first = included + 2
        })
      }
      // 2. In the middle of one.
      await untilVoted(last)
      await killAndStart()
    }
    await sent
    await waitForHeight(rotating, last + 1, PATIENCE_MS)
    for (let height = begin; height <= last; height++) {
      expect([height, await committedBy(height)]).toEqual([height, [height < first ? former : next]])
    }

    // The network goes on without it, and it comes back with the new key in the place of the former one.
    await off.start()
    await waitForHeight(off, last + 1, PATIENCE_MS)
    await rotating.kill('SIGKILL')
    signed.addFrom(rotating.home)
    await waitForHeight(third, (await third.height()) + 2, PATIENCE_MS)
    const { validatorKey, nextValidatorKey } = dataPaths(rotating.home)
    renameSync(nextValidatorKey, validatorKey)
    await rotating.start()
    const back = await rotating.height()
    await untilVoted(back + 1)
    await Promise.all(network.nodes.map((node) => waitForHeight(node, back + 2, PATIENCE_MS)))
    expect(await differences(network.nodes)).toEqual([])

    await rotating.kill('SIGTERM')
    signed.addFrom(rotating.home)
    expect(Math.max(...signedHeights(former))).toBe(first - 1)
    expect(Math.min(...signedHeights(next))).toBe(first)
    expect(watcher.heightsOf(former.address).size).toBeGreaterThan(0)
    expect(watcher.contradictions).toEqual([])
  },
  TIMEOUT_MS,
)

/** Heights of votes by its log and by what others have seen. */
function signedHeights({ address }: ValidatorKey): readonly number[] {
  return [...signed.heightsOf(address), ...watcher.heightsOf(address)]
}
