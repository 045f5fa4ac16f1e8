import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { IndexDatabase } from '../../../../explorer/database/indexDatabase.ts'
import { openDatabase } from '../../../../explorer/database/open.ts'
import { transactionPosition } from '../../../../explorer/database/position.ts'
import type { ConsensusBlock, Event, NodeValidator } from '../../../../explorer/node/answers.ts'
import { NodeRefusal } from '../../../../explorer/node/nodeClient.ts'
import { readDecimal, type StakeState, type StakingChanges } from '../../../../explorer/stake/fetchStake.ts'
import {
  listDelegations,
  listDelegators,
  listStakingEvents,
  listValidators,
} from '../../../../explorer/stake/queries.ts'
import { fetchAbsences, powerChanges } from '../../../../explorer/stake/signatures.ts'
import { applyStaking } from '../../../../explorer/stake/stakingBook.ts'
import { stakingEvents } from '../../../../explorer/stake/stakingEvents.ts'
import { listAbsences, signedBlocks } from '../../../../explorer/stake/uptime.ts'
import { formatShare } from '../../../../explorer/web/src/format.ts'
import { BECH32_CONSENSUS, BECH32_OPERATOR, toBech32 } from '../../../../src/primitives/address.ts'

const addressOf = (byte: number): Uint8Array => new Uint8Array(20).fill(byte)
const account = (byte: number): string => toBech32(addressOf(byte))
const operator = (byte: number): string => toBech32(addressOf(byte), BECH32_OPERATOR)
const keyOf = (byte: number): string => Buffer.alloc(32, byte).toString('base64')
const consensusOf = (byte: number): Uint8Array =>
  createHash('sha256').update(Buffer.alloc(32, byte)).digest().subarray(0, 20)
const event = (type: string, attributes: Readonly<Record<string, string>>): Event => ({
  type,
  attributes: Object.entries(attributes).map(([key, value]) => ({ key, value })),
})

describe('events of stake', () => {
  it('are read as the modules write them', () => {
    const [validator, destination, delegator] = [operator(1), operator(2), account(3)]
    const found = stakingEvents(
      [
        event('withdraw_rewards', { amount: '5acoin', validator, delegator }),
        event('redelegate', {
          source_validator: validator,
          destination_validator: destination,
          amount: '40acoin',
          completion_time: '2026-01-01T00:00:00Z',
        }),
        event('unbond', { validator, delegator, amount: '7acoin' }),
        event('withdraw_commission', { amount: '9acoin' }),
      ],
      addressOf(9),
    )
    expect(found).toMatchObject([
      { kind: 'withdrawRewards', amount: 5n, delegator: addressOf(3) },
      // Its own event leaves out who redelegates: the rewards that are paid before tell.
      { kind: 'redelegate', validator: addressOf(1), destination: addressOf(2), delegator: addressOf(3), amount: 40n },
      { kind: 'undelegate', amount: 7n },
      { kind: 'withdrawCommission', validator: addressOf(9), isBySigner: true },
    ])
  })

  it('tell of a slash, of a jailing, or of both', () => {
    const address = toBech32(addressOf(4), BECH32_CONSENSUS)
    const found = stakingEvents(
      [
        event('slash', { address, power: '5', reason: 'missing_signature', jailed: address, burned_coins: '11' }),
        event('slash', { jailed: address }),
      ],
      undefined,
    )
    expect(found).toMatchObject([
      { kind: 'slash', isByConsensusKey: true, amount: 11n, reason: 'missing_signature' },
      { kind: 'jail', isByConsensusKey: true, validator: addressOf(4) },
      { kind: 'jail' },
    ])
  })
})

describe('signatures', () => {
  const signature = (flag: number) => ({ block_id_flag: flag, validator_address: '' })
  const block = (height: number, flags: readonly number[]) => ({
    height,
    consensus: {
      block: {
        header: { validators_hash: 'same' },
        last_commit: { height: String(height - 1), round: 0, signatures: flags.map(signature) },
      },
    } as unknown as ConsensusBlock,
  })
  const set = Array.from({ length: 150 }, (_, index) => ({
    address: Buffer.from(addressOf(index)).toString('hex').toUpperCase(),
    voting_power: '1',
  }))

  it('belong to places in the validator set, which is asked for once, in parts', async () => {
    const asked: unknown[] = []
    const node = {
      comet: (calls: readonly { readonly params: unknown }[]) => {
        asked.push(...calls.map(({ params }) => params))
        const { page, per_page: size } = calls[0]!.params as { page: string; per_page: string }
        const start = (Number(page) - 1) * Number(size)
        return Promise.resolve([{ validators: set.slice(start, start + Number(size)), total: '150' }])
      },
    }
    const flags = set.map((_, index) => (index === 120 ? 1 : index === 3 ? 3 : 2))
    const found = await fetchAbsences(node, [block(7, flags), block(8, flags), block(9, flags)])
    expect(asked.length).toBe(4)
    expect(found.map(({ validator, height, kind }) => [validator[0], height, kind])).toEqual([
      [3, 6, 2],
      [120, 6, 1],
      [3, 7, 2],
      [120, 7, 1],
      [3, 8, 2],
      [120, 8, 1],
    ])
  })

  it('are nobody’s where the node has dropped the validator set', async () => {
    const node = { comet: () => Promise.reject(new NodeRefusal('validators', -32603, 'no such height')) }
    expect(await fetchAbsences(node, [block(7, [1])])).toEqual([])
  })

  it('come with powers that hold from the second block on', () => {
    const update = { pub_key: { Sum: { value: { ed25519: keyOf(5) } } } }
    const results = { height: '4', txs_results: null, finalize_block_events: null, validator_updates: [update] }
    expect(powerChanges(4, results)).toEqual([{ validator: consensusOf(5), height: 6, power: 0 }])
  })
})

describe('stake in the index', () => {
  let directory: string
  let database: IndexDatabase
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'coind-staking-'))
    database = await openDatabase(join(directory, 'index.sqlite'))
  })
  afterEach(async () => {
    await database.close()
    rmSync(directory, { recursive: true, force: true })
  })

  const write = async (changes: Partial<StakingChanges>): Promise<void> => {
    const lock = (await database.lock())!
    await lock.write((writer) =>
      applyStaking(writer, { events: [], absences: [], powers: [], state: undefined, ...changes }),
    )
    await lock.close()
  }
  const validator = (byte: number, tokens: bigint, shares = tokens): NodeValidator => ({
    operator_address: operator(byte),
    consensus_pubkey: { '@type': '/cosmos.crypto.ed25519.PubKey', key: keyOf(byte) },
    jailed: false,
    status: 'BOND_STATUS_BONDED',
    tokens: String(tokens),
    delegator_shares: `${shares}.000000000000000000`,
    description: { moniker: `<b>v${byte}\u0000`, identity: '', website: '', security_contact: '', details: '' },
    unbonding_time: '1970-01-01T00:00:00Z',
    commission: {
      commission_rates: { rate: '0.100000000000000000', max_rate: '1.000000000000000000', max_change_rate: '0.010' },
      update_time: '2026-01-01T00:00:00Z',
    },
    min_self_delegation: '1',
  })
  const stake = (delegator: number, to: number, shares: bigint | null) => ({
    delegator: addressOf(delegator),
    validator: addressOf(to),
    shares: shares === null ? null : readDecimal(`${shares}`),
  })
  const state = (own: Partial<StakeState>): StakeState => ({
    validators: [],
    tombstoned: [],
    delegations: [],
    hasAllDelegations: false,
    ...own,
  })
  const all = { limit: 100 } as const

  it('is worth what tokens for shares are, counts delegators, and forgets who has gone', async () => {
    const delegations = [stake(7, 1, 60n), stake(8, 1, 40n), stake(7, 2, 5n)]
    await write({ state: state({ validators: [validator(1, 90n, 100n), validator(2, 5n)], delegations }) })
    const list = async () => (await listValidators(database.queries, undefined, all)).items
    expect(await list()).toMatchObject([
      { operator: operator(1), tokens: '90', delegators: 2, commissionRate: '0.1', moniker: '<b>v1\u0000' },
      { operator: operator(2), tokens: '5', delegators: 1 },
    ])
    expect((await listDelegations(database.queries, addressOf(7))).map(({ amount }) => amount)).toEqual([54n, 5n])
    await write({
      state: state({ validators: [validator(1, 90n, 100n)], delegations: [stake(7, 2, null), stake(8, 1, 41n)] }),
    })
    expect(await list()).toMatchObject([{ delegators: 2 }, { status: 'removed', tokens: '0', delegators: 0 }])
    const row = await database.queries
      .selectFrom('validator')
      .selectAll()
      .where('operator', '=', addressOf(1))
      .executeTakeFirstOrThrow()
    const first = await listDelegators(database.queries, row, { limit: 1 })
    expect(first.items.map(({ amount }) => amount)).toEqual(['54'])
    const second = await listDelegators(database.queries, row, { limit: 1, before: first.next! })
    expect([second.items.map(({ amount }) => amount), second.next]).toEqual([['36'], null])
    await write({
      state: state({ validators: [validator(1, 3n)], delegations: [stake(9, 1, 3n)], hasAllDelegations: true }),
    })
    expect(await list()).toMatchObject([{ delegators: 1 }, { status: 'removed' }])
    expect(await listDelegations(database.queries, addressOf(7))).toEqual([])
  })

  it('names the operator of a consensus key, and leaves out what a stranger did', async () => {
    const at = (index: number) => transactionPosition(5, index)
    await write({
      state: state({ validators: [validator(1, 1n)] }),
      events: [
        {
          kind: 'slash',
          validator: consensusOf(1),
          isByConsensusKey: true,
          amount: 3n,
          reason: 'why',
          position: at(0),
        },
        {
          kind: 'withdrawCommission',
          validator: addressOf(9),
          isByConsensusKey: false,
          isBySigner: true,
          position: at(1),
        },
        {
          kind: 'redelegate',
          validator: addressOf(9),
          destination: addressOf(1),
          isByConsensusKey: false,
          position: at(2),
        },
      ],
    })
    const { items } = await listStakingEvents(database.queries, { validator: addressOf(1) }, all)
    expect(items.map(({ kind, validator: own, to, amount }) => [kind, own.operator, to?.operator, amount])).toEqual([
      ['redelegate', operator(9), operator(1), null],
      ['slash', operator(1), undefined, '3'],
    ])
  })

  it('has runs of absences that batches make longer, and a letter for each block', async () => {
    const own = consensusOf(1)
    const absent = (height: number, kind = 1) => ({ validator: own, height, kind })
    await write({
      powers: [{ validator: own, height: 2, power: 5 }],
      absences: [absent(4), absent(5)],
    })
    await write({ absences: [absent(6), absent(7, 2), absent(9)], powers: [{ validator: own, height: 11, power: 0 }] })
    const runs = (await listAbsences(database.queries, own, all)).items
    expect(runs.map(({ first, last, kind }) => `${first}-${last} ${kind}`)).toEqual([
      '9-9 absent',
      '7-7 nil',
      '4-6 absent',
    ])
    const letters = await signedBlocks(database.queries, [{ consensus_address: own }], { first: 1, last: 12 })
    expect([...letters.values()]).toEqual(['-ssaaansas--'])
  })
})

it.each([
  ['0.1', '10 %'],
  ['1', '100 %'],
  ['0', '0 %'],
  ['0.055', '5.5 %'],
  ['0.000000000000000001', '0.0000000000000001 %'],
])('shows the share %s as %s', (share, shown) => {
  expect(formatShare(share)).toBe(shown)
})

it.each(['', '-1', '1.', '1e3', `1.${'0'.repeat(19)}`])('refuses %j as a decimal', (text) => {
  expect(() => readDecimal(text)).toThrow('the node reports an invalid decimal')
})
