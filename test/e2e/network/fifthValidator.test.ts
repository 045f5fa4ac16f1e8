import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDuplicateVoteEvidence, encodeEvidence } from '../../../src/chain/comet/evidence.ts'
import { SIGNED_MESSAGE_TYPES, type ValidatorSet, type Vote } from '../../../src/chain/comet/types.ts'
import { voteSignBytes } from '../../../src/chain/comet/vote.ts'
import { loadValidatorKey, type ValidatorKey } from '../../../src/consensus/validatorKey.ts'
import { dataPaths } from '../../../src/datadir/dataDirectory.ts'
import { toBech32 } from '../../../src/primitives/address.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { signEd25519 } from '../../../src/primitives/ed25519.ts'
import { PROPERTY_RUNS } from '../../propertyRuns.ts'
import { ACCOUNTS, COIN, KEYS } from '../devChain.ts'
import { getJson } from '../native/nativeChain.ts'
import { runCli, sendByCli } from '../native/runCli.ts'
import { runCoind } from '../runCoind.ts'
import { differences, type LocalNetwork, makeNetwork, type NetworkNode, QUICK, waitForHeight } from './localNetwork.ts'
import { startTransfers } from './transfers.ts'

const OPERATOR = toBech32(hexToBytes(ACCOUNTS[0]!.address), 'coinvaloper')
const DELEGATOR = toBech32(hexToBytes(ACCOUNTS[1]!.address))
const POLL = { timeout: 60_000, interval: 250 }
const SNAPSHOT_INTERVAL = 100
/** Two of the validators make snapshots: whoever fetches several chunks at the same time asks both. */
const SNAPSHOT_MAKERS = 2

let network: LocalNetwork
let seed: NetworkNode
let fifth: NetworkNode
let key: ValidatorKey
let transfers: ReturnType<typeof startTransfers>
/** of the block after which the fifth node begins */
let snapshotHeight: number

beforeAll(async () => {
  network = await makeNetwork({
    ...QUICK,
    blockIntervalMs: 100,
    validators: 4,
    fullNodes: 2,
    changeGenesis: ({ app_state: { slashing } }) => {
      // Jailed when it has missed all of them: its first votes may come too late for ten seconds where the machine is busy.
      slashing.params.signed_blocks_window = '100'
      slashing.params.min_signed_per_window = '0.050000000000000000'
      slashing.params.downtime_jail_duration = '2s'
    },
  })
  await Promise.all(
    network.validators.map((node, index) =>
      node.start(index < SNAPSHOT_MAKERS ? { SNAPSHOT_INTERVAL: String(SNAPSHOT_INTERVAL) } : {}),
    ),
  )
  transfers = startTransfers(network.validators, 100)
  seed = network.seed
  fifth = network.nodes[4]!
  key = loadValidatorKey(dataPaths(fifth.home).validatorKey)!
})
afterAll(() => network?.stop())

const urlOf = ({ rpcUrl }: NetworkNode) => `${rpcUrl}/`
const validator = async () =>
  (await getJson({ url: urlOf(seed) }, `/cosmos/staking/v1beta1/validators/${OPERATOR}`)).validator

/** Whether its signature is in the newest commit. */
async function isSigning(): Promise<boolean> {
  const { block } = await seed.comet<{
    readonly block: { readonly last_commit: { readonly signatures: readonly { readonly validator_address: string }[] } }
  }>('block')
  const address = Buffer.from(key.address).toString('hex').toUpperCase()
  return block.last_commit.signatures.some(({ validator_address }) => validator_address === address)
}

async function delegated(): Promise<bigint> {
  const path = `/cosmos/staking/v1beta1/validators/${OPERATOR}/delegations/${DELEGATOR}`
  return BigInt((await getJson({ url: urlOf(seed) }, path)).delegation_response.balance.amount)
}

/** What evidence of a height is made with. */
async function validatorsAt(height: number): Promise<{ readonly validators: ValidatorSet; readonly timeMs: number }> {
  const found = await seed.comet<{
    readonly validators: readonly {
      readonly address: string
      readonly pub_key: { readonly value: string }
      readonly voting_power: string
    }[]
  }>(`validators?height=${height}&per_page=100`)
  const { header } = await seed.comet<{ readonly header: { readonly time: string } }>(`header?height=${height}`)
  const validators = found.validators.map(({ address, pub_key, voting_power }) => ({
    address: new Uint8Array(Buffer.from(address, 'hex')),
    publicKey: new Uint8Array(Buffer.from(pub_key.value, 'base64')),
    power: BigInt(voting_power),
  }))
  const totalPower = validators.reduce((sum, { power }) => sum + power, 0n)
  return { validators: { validators, totalPower }, timeMs: Date.parse(header.time) }
}

const shelfOf = ({ home }: NetworkNode): string => join(home, 'snapshots')

/** Starts a node without blocks, and waits until it takes part. @returns the height of the snapshot that it began with */
async function startJoining(node: NetworkNode, peers: readonly NetworkNode[]): Promise<number> {
  const beganMs = performance.now()
  await node.start({
    JOIN_NETWORK: 'true',
    SEED_NODE_URL: seed.rpcUrl,
    SYNC_MODE: 'auto',
    PERSISTENT_PEERS: peers.map(({ nodeId, peerAddress }) => `${nodeId}@${peerAddress}`).join(','),
  })
  await expect
    .poll(async () => {
      const { sync_info } = await node.comet<{ readonly sync_info: { readonly catching_up: boolean } }>('status')
      return sync_info.catching_up
    }, POLL)
    .toBe(false)
  await waitForHeight(node, await seed.height())
  console.log(`${node.name} takes part after ${((performance.now() - beganMs) / 1000).toFixed(1)} s`)
  const begin = /"height":(\d+)[^\n]*the node starts from the state of a snapshot/.exec(node.running.output())
  expect(begin, node.running.output()).not.toBeNull()
  return Number(begin![1])
}

it('a node begins with a snapshot of the others while transfers flow', async () => {
  await expect
    .poll(
      () =>
        network.validators
          .slice(0, SNAPSHOT_MAKERS)
          .every((node) => existsSync(join(shelfOf(node), String(SNAPSHOT_INTERVAL)))),
      { ...POLL, timeout: 90_000 },
    )
    .toBe(true)
  snapshotHeight = await startJoining(fifth, network.validators)
  expect(snapshotHeight % SNAPSHOT_INTERVAL).toBe(0)
  await expect(fifth.blockHash(1)).rejects.toThrow(`oldest block is ${snapshotHeight + 1}`)
})

it.runIf(PROPERTY_RUNS > 1)(
  'another one does so though each chunk of one of them is bad, and bans that one',
  async () => {
    const bad = network.validators[1]!
    const damaged = new Set<string>()
    const damage = (): void => {
      for (const name of readdirSync(shelfOf(bad))) {
        const directory = join(shelfOf(bad), name)
        if (name.startsWith('.') || damaged.has(name)) continue
        damaged.add(name)
        for (const file of readdirSync(directory).filter((file) => file.endsWith('.zst'))) {
          const bytes = readFileSync(join(directory, file))
          bytes[bytes.length >> 1]! ^= 1
          writeFileSync(join(directory, file), bytes)
        }
      }
    }
    damage()
    // The node goes on making snapshots.
    const damaging = setInterval(damage, 20)
    const sixth = network.nodes[5]!
    let bans: readonly string[] = []
    try {
      // Where the machine is busy, the newest snapshot may be fetched before its chunks are bad.
      for (let attempts = 0; bans.length === 0 && attempts < 10; attempts++) {
        rmSync(sixth.home, { recursive: true, force: true })
        await startJoining(sixth, network.validators.slice(0, SNAPSHOT_MAKERS))
        expect(await sixth.kill('SIGTERM')).toBe(0)
        const lines = sixth.running.output().split('\n')
        bans = lines.filter((line) => line.includes('peer banned'))
      }
    } finally {
      clearInterval(damaging)
    }
    expect(bans).toEqual([expect.stringMatching(new RegExp(`${bad.nodeId}.*do not have the hash of their file`))])
  },
)

it('a node becomes a validator by one command, and signs', async () => {
  const create = ['staking', 'create-validator', '5000COIN', '--moniker', 'fifth', '--commission-rate', '0.05']
  await sendByCli(urlOf(fifth), KEYS[0]!, create)
  await expect.poll(isSigning, POLL).toBe(true)
  await transfers.stop()
  expect(await validator()).toMatchObject({
    status: 'BOND_STATUS_BONDED',
    tokens: (5000n * COIN).toString(),
    description: { moniker: 'fifth' },
    consensus_pubkey: { key: Buffer.from(key.publicKey).toString('base64') },
  })
  const { validators } = await seed.comet<{ readonly validators: readonly unknown[] }>('validators')
  expect(validators).toHaveLength(5)
  await sendByCli(urlOf(seed), KEYS[1]!, ['staking', 'delegate', OPERATOR, '1000COIN'])
  expect(await delegated()).toBe(1000n * COIN)
})

it('fetches what it needs of the blocks before its snapshot, beside the new ones', async () => {
  const isThere = () => fifth.running.output().includes('all old headers that are needed are there')
  await expect.poll(isThere, POLL).toBe(true)
})

/** Damages the database of the fifth node, which is stopped, and has it repaired. @returns the snapshot's height */
async function repairFifth(): Promise<number> {
  rmSync(join(dataPaths(fifth.home).db, 'CURRENT'))
  const environment = { ...fifth.variables, ...QUICK.environment, HOMEDIR: fifth.home }
  const { code, output } = await runCoind(['repair'], { environment })
  expect({ code, output }).toMatchObject({
    code: 0,
    output: expect.stringContaining('restore a snapshot from the peers'),
  })
  // A snapshot has no validators of the blocks before it: these are proved, and the damaged database had them.
  expect(output).toContain('Headers and commits start at block 0')
  return Number(/rebuilt up to block (\d+)/.exec(output)![1])
}

it('is jailed and slashed when it stops, is repaired by a snapshot of its peers, and unjails', async () => {
  await fifth.kill('SIGTERM')
  const [height] = await Promise.all([
    repairFifth(),
    expect.poll(async () => (await validator()).jailed, POLL).toBe(true),
  ])
  expect(height % SNAPSHOT_INTERVAL).toBe(0)
  snapshotHeight = height
  // 1 % for downtime
  expect((await validator()).tokens).toBe((5940n * COIN).toString())
  expect(await delegated()).toBe(990n * COIN)
  await expect.poll(isSigning, POLL).toBe(false)
  const early = await runCli(urlOf(seed), ['tx', 'slashing', 'unjail'], { COIND_PRIVATE_KEY: KEYS[1]! })
  expect(early.code).not.toBe(0)
  expect(early.error).toContain('validator')

  await fifth.start()
  await waitForHeight(fifth, await seed.height())
  await expect(fifth.blockHash(1)).rejects.toThrow(`oldest block is ${height + 1}`)
  expect(fifth.running.output()).not.toContain('write-ahead log ends before the last block')
  await expect
    .poll(() => runCli(urlOf(fifth), ['tx', 'slashing', 'unjail'], { COIND_PRIVATE_KEY: KEYS[0]! }), POLL)
    .toMatchObject({ code: 0 })
  await expect.poll(isSigning, POLL).toBe(true)
  expect(await validator()).toMatchObject({ jailed: false, status: 'BOND_STATUS_BONDED' })
})

/** Tells a node that the holder of a key has signed two blocks of a height. */
async function accuse(signer: ValidatorKey, height: number, told: NetworkNode): Promise<void> {
  const { validators, timeMs } = await validatorsAt(height)
  const index = validators.validators.findIndex(({ address }) => Buffer.compare(address, signer.address) === 0)
  const vote = (fill: number): Vote => {
    const hash = new Uint8Array(32).fill(fill)
    const unsigned = {
      type: SIGNED_MESSAGE_TYPES.precommit,
      height,
      round: 0,
      blockId: { hash, partSetHeader: { total: 1, hash } },
      timestampMs: timeMs,
    }
    const signature = signEd25519(signer, voteSignBytes(network.chainId, unsigned))
    return { ...unsigned, validatorAddress: signer.address, validatorIndex: index, signature }
  }
  const evidence = createDuplicateVoteEvidence(vote(1), vote(2), { validators, timeMs })
  const text = Buffer.from(encodeEvidence(evidence)).toString('base64')
  await told.comet(`broadcast_evidence?evidence=${encodeURIComponent(`"${text}"`)}`)
}

it('is tombstoned when its key signs two blocks of a height', async () => {
  const height = await seed.height()
  await waitForHeight(seed, height + 2)
  await accuse(key, height, seed)

  await expect.poll(async () => (await validator()).jailed, POLL).toBe(true)
  const address = toBech32(key.address, 'coinvalcons')
  const { val_signing_info } = await getJson({ url: urlOf(seed) }, `/cosmos/slashing/v1beta1/signing_infos/${address}`)
  expect(val_signing_info.tombstoned).toBe(true)
  // 5 % more
  expect((await validator()).tokens).toBe((5643n * COIN).toString())
  expect(await delegated()).toBe((9405n * COIN) / 10n)
  const unjail = await runCli(urlOf(seed), ['tx', 'slashing', 'unjail'], { COIND_PRIVATE_KEY: KEYS[0]! })
  expect(unjail.error).toContain('jailed')
  expect(unjail.code).not.toBe(0)
  const { evidence: listed } = await getJson({ url: urlOf(seed) }, '/cosmos/evidence/v1beta1/evidence')
  expect(listed).toHaveLength(1)
})

it('judges evidence of blocks before its snapshot, of which it has fetched the validators', async () => {
  const accused = loadValidatorKey(dataPaths(network.validators[3]!.home).validatorKey)!
  await accuse(accused, snapshotHeight - 30, fifth)
  const address = toBech32(accused.address, 'coinvalcons')
  await expect
    .poll(async () => {
      const path = `/cosmos/slashing/v1beta1/signing_infos/${address}`
      return (await getJson({ url: urlOf(seed) }, path)).val_signing_info.tombstoned
    }, POLL)
    .toBe(true)
})

it('leaves all nodes with one history', async () => {
  const nodes = [...network.validators, fifth]
  const target = (await seed.height()) + 3
  await Promise.all(nodes.map((node) => waitForHeight(node, target)))
  expect(await differences(nodes, snapshotHeight + 1)).toEqual([])
})
