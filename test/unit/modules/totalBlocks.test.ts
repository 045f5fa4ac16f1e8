import { describe, expect, it } from 'vitest'
import { acceptedUpdates, advanceValidators, genesisHeadValidators } from '../../../src/execution/chainHead.ts'
import { REWARDS_PREFIX, STARTING_INFO_PREFIX } from '../../../src/modules/distribution/keys.ts'
import { getRewards } from '../../../src/modules/distribution/rewards.ts'
import {
  deleteSlashEvents,
  MAX_SLASH_EVENTS,
  putSlashEvent,
  slashEventsFrom,
} from '../../../src/modules/distribution/slashEvents.ts'
import { endGov } from '../../../src/modules/gov/endGov.ts'
import {
  ACTIVE_QUEUE_PREFIX,
  activeQueueKey,
  inactiveQueueKey,
  proposalKey,
  runningTally,
} from '../../../src/modules/gov/state.ts'
import { FAILED, MsgVote, PASSED, REJECTED, VOTING_PERIOD } from '../../../src/modules/gov/types.ts'
import { MESSAGES } from '../../../src/modules/messageTable.ts'
import { BONDED_POOL, FEE_COLLECTOR, MINT, NOT_BONDED_POOL } from '../../../src/modules/moduleAccounts.ts'
import {
  flipMissed,
  missedCount,
  putSigningRecord,
  SIGNING_INFO_PREFIX,
} from '../../../src/modules/slashing/signingInfo.ts'
import { beginRedelegate, undelegate } from '../../../src/modules/staking/delegatorActions.ts'
import {
  applyRotations,
  MAX_WAITING_ROTATIONS,
  pendingRotations,
  rotateConsensusKey,
} from '../../../src/modules/staking/keyRotation.ts'
import { POWER_INDEX, powerKey, QUEUE } from '../../../src/modules/staking/keys.ts'
import { STAKING_PARAMS, setStakingParams } from '../../../src/modules/staking/params.ts'
import { enqueue, queued } from '../../../src/modules/staking/queue.ts'
import { getUnbonding } from '../../../src/modules/staking/unbonding.ts'
import { consensusAddressOf, jail, setLastPower, unjail } from '../../../src/modules/staking/validators.ts'
import { addressesKey } from '../../../src/modules/storeKey.ts'
import { toBech32 } from '../../../src/primitives/address.ts'
import { concatBytes } from '../../../src/primitives/bytes.ts'
import { ONE } from '../../../src/primitives/decimal.ts'
import { sha256 } from '../../../src/primitives/hash.ts'
import { heightBytes } from '../../../src/storage/columns.ts'
import { GovChain, succeeded, VALIDATORS, VOTING_MS } from '../../support/modules/gov/govChain.ts'
import { account, COIN, ok, StakingChain } from '../../support/modules/stakingChain.ts'

/*
 * States that no transaction, parameter or genesis makes, as far as is known: begin and end of blocks have an answer for them all the
 * same. They are written past the modules.
 */

const [A, B, C, D] = [1, 2, 3, 4].map(account) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array]

function chain(options: Partial<ConstructorParameters<typeof StakingChain>[0]> = {}): StakingChain {
  const net = new StakingChain({
    validators: [A, B, C].map((operator) => ({ operator, stake: 100n * COIN })),
    holders: [D],
    ...options,
  })
  net.block()
  net.block()
  return net
}

describe('the begin of a block', () => {
  it('counts votes although one validator has no signing info', () => {
    const net = chain()
    net.context.world.native.delete(addressesKey(SIGNING_INFO_PREFIX, consensusAddressOf(net.validator(A))))
    net.begin({ absent: [A, B] })
    expect(net.leftAlone.join()).toContain('a bonded validator has no signing info')
    expect(missedCount(net.context.world.native, consensusAddressOf(net.validator(B)))).toBe(1)
  })

  it('jails a validator although it cannot be slashed', () => {
    const net = chain()
    net.context.world.native.delete(addressesKey(REWARDS_PREFIX, A))
    net.begin({ misbehaviour: [net.doubleSign(A, 1)] })
    expect(net.leftAlone.join()).toContain('the validator has no record of rewards')
    expect(net.validator(A)).toMatchObject({ jailed: true, tokens: 100n * COIN })
  })

  it('changes reward shares although one has no record of rewards, and divides fees', () => {
    const net = chain()
    net.begin()
    jail(net.context, consensusAddressOf(net.validator(A)))
    net.end()
    net.block({ fees: 1_000n })
    net.context.world.native.delete(addressesKey(REWARDS_PREFIX, A))
    net.block({ fees: 1_000n })
    const before = getRewards(net.context.world.native, B)
    net.begin({ fees: 1_000n })
    expect(net.leftAlone.join()).toContain('the validator has no record of rewards')
    expect(net.context.world.getBalance(FEE_COLLECTOR)).toBe(0n)
    expect(before).toBeDefined()
  })

  it('continues a walk of a slash behind stake that cannot be settled', () => {
    const net = chain({ staking: { maxEntries: 100 } })
    net.begin()
    for (const operator of [B, C]) {
      ok(beginRedelegate(net.context, { delegator: operator, source: operator, destination: A, amount: 10n * COIN }))
    }
    net.end()
    net.context.world.native.delete(addressesKey(STARTING_INFO_PREFIX, A, B))
    net.begin({ misbehaviour: [net.doubleSign(B, 2), net.doubleSign(C, 2)] })
    expect(net.leftAlone.join()).toContain('a redelegation cannot be slashed')
    // Of the two redelegations of 10 coins that came here one has paid its twentieth.
    expect(net.validator(A).tokens).toBe(120n * COIN - COIN / 2n)
    expect(net.validator(B).jailed && net.validator(C).jailed).toBe(true)
  })

  it('mints nothing where the coins cannot be moved', () => {
    const net = chain({ mint: { inflationMin: ONE / 10n, inflationMax: ONE / 10n, inflationRateChange: ONE / 10n } })
    const { world } = net.context
    world.setBalance(FEE_COLLECTOR, 2n ** 256n - 1n)
    const supply = world.getBalance(MINT)
    net.begin()
    expect(net.leftAlone.join()).toContain('hook: begin mint')
    expect(net.context.world.getBalance(MINT)).toBe(supply)
  })
})

describe('the end of a block', () => {
  it('pays what is due behind entries of the queue that cannot end', () => {
    const net = chain()
    net.begin()
    ok(undelegate(net.context, { delegator: A, operator: A, amount: COIN }))
    net.end()
    const { native } = net.context.world
    // A kind that this version does not have, and a validator that is bonded.
    native.set(concatBytes(QUEUE, heightBytes(1), Uint8Array.of(0x77)), Uint8Array.of(1))
    enqueue(native, { kind: 'validator', timeMs: 2, addresses: [B] })
    enqueue(native, { kind: 'unbonding', timeMs: 3, addresses: [] })
    net.wait(10_000)
    net.block()
    const found = net.leftAlone
    expect(found.filter((each) => each.includes('queued: '))).toHaveLength(3)
    expect(found.join()).toContain('an entry of an unknown kind')
    expect(found.join()).toContain('a validator that is not unbonding')
    expect(net.context.world.getBalance(A)).toBe(COIN)
    expect([...queued(net.context.world.native)]).toEqual([])
  })

  it('leaves coins locked that a pool does not have', () => {
    const net = chain()
    net.begin()
    for (const operator of [A, B]) ok(undelegate(net.context, { delegator: operator, operator, amount: COIN }))
    net.end()
    net.context.world.setBalance(NOT_BONDED_POOL, COIN)
    net.wait(10_000)
    net.block()
    expect(net.leftAlone.join()).toContain('a pool of staking holds too little')
    const { world } = net.context
    expect(world.getBalance(A) + world.getBalance(B)).toBe(COIN)
    expect([A, B].filter((each) => getUnbonding(world.native, each, each) !== undefined)).toHaveLength(1)
  })

  it('chooses validators although the order of powers names one that is not there, and one with power is not bonded', () => {
    const net = chain()
    const { native } = net.context.world
    native.set(powerKey(10n ** 6n, D), D)
    setLastPower(native, D, 5n)
    net.begin()
    jail(net.context, consensusAddressOf(net.validator(A)))
    net.end()
    expect(net.leftAlone.join()).toContain('names a validator that is not there')
    expect(net.leftAlone.join()).toContain('a validator with power is not bonded')
    expect(net.validator(A).status).toBe('unbonding')
    expect(net.powers(net.height + 2)).toHaveLength(2)
    expect([...net.context.world.native.range(POWER_INDEX)]).toHaveLength(3)
  })

  it('changes the set although a pool cannot pay for it', () => {
    const net = chain()
    net.begin()
    jail(net.context, consensusAddressOf(net.validator(A)))
    net.context.world.setBalance(BONDED_POOL, 0n)
    net.end()
    expect(net.validator(A).status).toBe('unbonding')
    expect(net.powers(net.height + 2)).toHaveLength(2)
  })
})

describe('governance', () => {
  it('decides proposals behind entries of its queues that name none', () => {
    const net = new GovChain()
    const id = net.propose()
    const lost = net.propose()
    net.native.set(activeQueueKey(1, 77n), Uint8Array.of(1))
    net.native.set(inactiveQueueKey(0, 78n), Uint8Array.of(255))
    net.native.delete(proposalKey(lost))
    net.passTime(VOTING_MS)
    net.endBlock(400)
    expect([PASSED, FAILED, REJECTED]).toContain(net.proposal(id).status)
    expect([...net.native.range(ACTIVE_QUEUE_PREFIX)]).toEqual([])
    expect(net.native.get(inactiveQueueKey(0, 78n))).toBeUndefined()
    expect(net.proposal(id).status).not.toBe(VOTING_PERIOD)
  })

  it('gives up a tally whose proposal is gone, and decides the next', () => {
    const net = new GovChain()
    const [lost, next] = [net.propose(), net.propose()]
    for (const operator of VALIDATORS) {
      succeeded(net.send(MsgVote, { proposalId: lost, voter: toBech32(operator), option: 1 }))
    }
    net.passTime(VOTING_MS)
    endGov(net.context, MESSAGES, 1)
    expect(runningTally(net.native)?.proposalId).toBe(lost)
    net.native.delete(proposalKey(lost))
    for (let block = 0; net.proposal(next).status === VOTING_PERIOD; block++) {
      expect(block).toBeLessThan(5)
      endGov(net.context, MESSAGES, 1)
    }
    expect(runningTally(net.native)).toBeUndefined()
    expect([...net.native.range(ACTIVE_QUEUE_PREFIX)]).toEqual([])
  })
})

it('stores at most a hundred slashes of a validator, the newest ones, and deletes them with it', () => {
  const net = chain()
  const { native } = net.context.world
  for (let period = 1n; period <= 250n; period++) putSlashEvent(native, A, { period, height: 1, fraction: 1n })
  putSlashEvent(native, B, { period: 1n, height: 1, fraction: 1n })
  const periods = [...slashEventsFrom(native, A, 0n)].map(({ period }) => period)
  expect(periods).toEqual(Array.from({ length: MAX_SLASH_EVENTS }, (_, index) => 151n + BigInt(index)))
  const before = native.work.done
  deleteSlashEvents(native, A)
  expect(native.work.done - before).toBeLessThan(300_000)
  expect([...slashEventsFrom(native, A, 0n)]).toEqual([])
  expect([...slashEventsFrom(native, B, 0n)]).toHaveLength(1)
})

it('punishes as many absent validators in a block as its budget allows, the others later', () => {
  const operators = Array.from({ length: 20 }, (_, index) => account(index + 10))
  const net = chain({
    validators: [A, ...operators].map((operator) => ({ operator, stake: 100n * COIN })),
    slashing: { signedBlocksWindow: 500_000n, minSignedPerWindow: ONE },
  })
  const { native } = net.context.world
  for (const operator of operators) {
    const address = consensusAddressOf(net.validator(operator))
    putSigningRecord(native, address, { startHeight: -600_000n, jailedUntil: 0n, tombstoned: false })
    // In each record of bits one.
    for (let index = 0; index < 500_000; index += 1024) flipMissed(native, { address, operator }, index)
  }
  let punished = 0
  for (let blocks = 1; punished < operators.length; blocks++) {
    expect(blocks).toBeLessThan(operators.length)
    const before = net.context.world.native.work.done
    net.begin({ absent: operators })
    expect(net.context.world.native.work.done - before).toBeLessThan(5_000_000)
    const now = operators.filter((operator) => net.validator(operator).jailed).length
    expect(now).toBeGreaterThan(punished)
    punished = now
    net.end()
    net.check()
  }
})

it('applies rotations of keys with the same work however much the validators missed', () => {
  const work = [0, 400_000].map((missed) => {
    const net = chain({ holders: [A], slashing: { signedBlocksWindow: 500_000n } })
    const { native } = net.context.world
    const signer = { address: consensusAddressOf(net.validator(A)), operator: A }
    for (let index = 0; index < missed; index += 1024) flipMissed(native, signer, index)
    net.begin()
    expect(rotateConsensusKey(net.context, { operator: A, publicKey: new Uint8Array(32).fill(9) })).toBeUndefined()
    net.end()
    net.block()
    net.begin()
    const before = net.context.world.native.work.done
    applyRotations(net.context)
    const done = net.context.world.native.work.done - before
    expect(consensusAddressOf(net.validator(A))).not.toEqual(signer.address)
    expect(missedCount(net.context.world.native, consensusAddressOf(net.validator(A)))).toBe(Math.ceil(missed / 1024))
    return done
  })
  expect(work[1]! - work[0]!).toBeLessThan(10_000)
})

it('lets validators without power wait while many rotations are under way, and those with power never', () => {
  const idle = Array.from({ length: MAX_WAITING_ROTATIONS + 1 }, (_, index) => account(index + 100))
  const net = chain({
    validators: [A, B, C, ...idle].map((operator) => ({ operator, stake: 100n * COIN })),
    holders: [A, ...idle],
  })
  net.begin()
  for (const operator of idle) jail(net.context, consensusAddressOf(net.validator(operator)))
  net.end()
  net.block()
  net.begin()
  for (const operator of idle) unjail(net.context, consensusAddressOf(net.validator(operator)))
  setStakingParams(net.context.world.native, { ...STAKING_PARAMS.get(net.context.world.native), maxValidators: 3 })
  const rotate = (operator: Uint8Array) =>
    rotateConsensusKey(net.context, { operator, publicKey: sha256(Uint8Array.of(1, ...operator)) })
  const refused = idle.map(rotate).filter((error) => error !== undefined)
  expect(refused.map(({ message }) => message)).toEqual([
    'too many rotations are under way: try again in a few blocks: invalid request',
  ])
  expect(rotate(A)).toBeUndefined()
  net.end()
  net.block()
  net.begin()
  const before = net.context.world.native.work.done
  applyRotations(net.context)
  expect(net.context.world.native.work.done - before).toBeLessThan((MAX_WAITING_ROTATIONS + 1) * 40_000)
  expect(pendingRotations(net.context.world.native)).toEqual([])
  net.end()
  net.begin()
  expect(rotate(idle.at(-1)!)).toBeUndefined()
  net.end()
  net.check()
})

describe('updates that consensus cannot take', () => {
  const key = (number: number) => new Uint8Array(32).fill(number)
  const head = genesisHeadValidators([1, 2].map((number) => ({ publicKey: key(number), power: 10n })))

  it.each([
    [
      'all that fit',
      [
        [1, 5],
        [3, 7],
      ],
      [
        [1, 5],
        [3, 7],
      ],
    ],
    [
      'not the removal of an unknown one',
      [
        [9, 0],
        [1, 5],
      ],
      [[1, 5]],
    ],
    [
      'not the second for a key',
      [
        [1, 5],
        [1, 6],
      ],
      [[1, 5]],
    ],
    [
      'not the removal of the last one',
      [
        [1, 0],
        [2, 0],
      ],
      [[1, 0]],
    ],
    [
      'not too much power',
      [
        [3, 2 ** 62],
        [1, 5],
      ],
      [[1, 5]],
    ],
    [
      'removals after new powers',
      [
        [9, 0],
        [1, 0],
        [2, 0],
        [3, 1],
      ],
      [
        [3, 1],
        [1, 0],
        [2, 0],
      ],
    ],
  ])('are left out: %s', (_, given, expected) => {
    const updates = given.map(([number, power]) => ({ publicKey: key(number!), power: BigInt(power!) }))
    const accepted = acceptedUpdates(head, updates)
    expect(accepted.map(({ publicKey, power }) => [publicKey[0], Number(power)])).toEqual(expected)
    expect(() => advanceValidators(head, accepted)).not.toThrow()
  })
})
